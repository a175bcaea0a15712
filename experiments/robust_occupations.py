"""他 or 她: an occupation as a shortcut, and three ways to balance the data.

Names decide the pronoun of the translation. In training, occupations nearly
do. Which occupation is more frequent with which pronoun is drawn by lot.
Every model takes as many steps, and all training sets are of one size. But
for the first, half of each are of the majority. All but two have 300 different
sentences: fewer are left when the majority is dropped, and 600 when all get
counterparts.
"""

import random
from typing import Any

import torch

from attention_book.evaluation import (
    accuracy_by_group,
    equalized_odds_difference,
)
from attention_book.generation import Translator
from attention_book.tokenizers.words import WordTokenizer
from attention_book.training import TrainingConfig
from corpora.biased.occupations import (
    OccupationSentence,
    balance,
    draw_occupations,
    draw_others,
    with_counterparts,
)
from experiments.fitting import fit
from experiments.record import percent


SEEDS = range(3)
N_TRAIN = 300
N_PORTRAITS = 900  # after repeating, in each training set
N_OTHERS = 2_100  # sentences without occupation and pronoun
N_TEST = 600
MAJORITY = 0.95
STEPS = 300
SIZES: dict[str, Any] = {
    "d_model": 64,
    "n_heads": 4,
    "d_ff": 128,
    "n_layers": 2,
    "norm": "pre",
}
NAMES = {
    "as it is": "原样 | as it is",
    "dropped": "减到一样多 | majority dropped",
    "repeated": "重复少数 | minority repeated",
    "counterparts": "一半配对应句 | counterparts, half",
    "all counterparts": "都配对应句 | counterparts, all",
    "unbiased": "本来就没有偏 | never biased",
}


def repeat(
    sentences: list[OccupationSentence], n: int, rng: random.Random
) -> list[OccupationSentence]:
    """Whole rounds of all sentences, and a sample of them for the rest."""
    rounds, rest = divmod(n, len(sentences))
    return rounds * sentences + rng.sample(sentences, rest)


def mend(
    way: str, biased: list[OccupationSentence], seed: int
) -> list[OccupationSentence]:
    """A training set; but for the first, with as many of the minority."""
    rng = random.Random(seed)
    if way == "as it is":
        return repeat(biased, N_PORTRAITS, rng)
    found = biased
    if way == "dropped":
        found = balance(biased, rng)
    elif way == "counterparts":
        found = with_counterparts(rng.sample(biased, N_TRAIN // 2), rng)
    elif way == "all counterparts":
        found = with_counterparts(biased, rng)
    elif way == "unbiased":
        found = draw_occupations(N_TRAIN, 0.5, seed=seed, lot=seed)
    return [
        sentence
        for is_majority in (True, False)
        for sentence in repeat(
            [p for p in found if p.is_majority == is_majority],
            N_PORTRAITS // 2,
            rng,
        )
    ]


def train(sentences: list[OccupationSentence], seed: int) -> Translator:
    pairs = [(p.english, p.chinese) for p in sentences]
    pairs += draw_others(N_OTHERS, seed)
    everything = draw_occupations(5_000, 0.5, seed=10_000)
    tokenizers = (
        WordTokenizer.train(p.english for p in everything),
        WordTokenizer.train(p.chinese for p in everything),
    )
    config = TrainingConfig(
        max_steps=STEPS,
        batch_tokens=1000,
        learning_rate=3e-3,
        warmup_steps=50,
        seed=seed,
    )
    return fit(pairs, tokenizers, SIZES, config, STEPS)


def evaluate(
    translator: Translator, test: list[OccupationSentence]
) -> dict[str, float]:
    outputs = translator.translate([p.english for p in test])
    references = [p.chinese.replace(" ", "") for p in test]
    exact = torch.tensor(
        [a == b for a, b in zip(outputs, references, strict=True)]
    )
    says_she = torch.tensor(["她" in text for text in outputs])
    says_he = torch.tensor(["他" in text for text in outputs])
    is_woman = torch.tensor([p.is_woman for p in test])
    right = torch.where(is_woman, says_she & ~says_he, says_he & ~says_she)
    groups = accuracy_by_group(right, [p.is_majority for p in test])
    among_women = [p.is_woman == p.is_majority for p in test]
    four = accuracy_by_group(
        right, list(zip(among_women, is_woman.tolist(), strict=True))
    )
    n = MAJORITY
    rows = torch.tensor([p.is_majority for p in test])
    return {
        "as collected": n * exact[rows].double().mean().item()
        + (1 - n) * exact[~rows].double().mean().item(),
        "balanced": exact.double().mean().item(),
        "majority": groups[True],
        "minority": groups[False],
        "worst group": min(four.values()),
        "odds": equalized_odds_difference(says_she, is_woman, among_women),
    }


def run(seed: int) -> dict[str, float]:
    biased = draw_occupations(N_TRAIN, MAJORITY, seed=seed, lot=seed)
    test = draw_occupations(N_TEST, 0.5, seed=1000 + seed, lot=seed)
    results = {}
    for way in NAMES:
        training = mend(way, biased, seed)
        results[f"{way}: different"] = len({p.english for p in training})
        results[f"{way}: share of majority"] = sum(
            p.is_majority for p in training
        ) / len(training)
        translator = train(training, seed)
        for name, value in evaluate(translator, test).items():
            results[f"{way}: {name}"] = value
    return results


def tables(results: dict[str, list[float]]) -> dict[str, list[list[str]]]:
    columns = {
        "majority": "代词，多数 | pronoun, majority",
        "minority": "代词，少数 | pronoun, minority",
        "odds": "几率差 | odds difference",
        "as collected": "整句，偏的分布 | sentence, biased mix",
        "balanced": "整句，均衡 | sentence, balanced",
    }

    head = ["训练数据 | training data", *columns.values()]
    rows = [
        [title, *(percent(results[f"{way}: {name}"], 0) for name in columns)]
        for way, title in NAMES.items()
    ]
    return {"occupations": [head, *rows]}
