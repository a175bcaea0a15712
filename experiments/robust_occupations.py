"""他 or 她: an occupation as a shortcut, and three ways to balance the data.

Names decide the pronoun of the translation. In training, occupations nearly
do. Which occupation is more frequent with which pronoun is drawn by lot.
Every model takes as many steps, and all training sets are of one size. But
for the first, half of each are of the majority. All but two have 300 different
sentences: fewer are left when the majority is dropped, and 600 when each gets
its counterpart.

Each model is judged on its way and at the end, and on its own training
sentences too: is the rare pronoun wrong because the occupation was learnt
instead of the name, or because training was not over yet? The data as they
are get a training twice as long, too, and one at a third of the rate.
"""

import random
from collections.abc import Iterable, Iterator
from typing import Any

import torch

from attention_book import (
    TrainingConfig,
    Translator,
    accuracy_by_group,
    equalized_odds_difference,
)
from attention_book.tokenizers.words import WordTokenizer
from corpora.biased.occupations import (
    OccupationSentence,
    balance,
    draw_occupations,
    draw_others,
    with_counterparts,
)
from experiments.fitting import fit_in_stages
from experiments.record import percent, spread


SEEDS = range(3)
N_TRAIN = 300
N_PORTRAITS = 900  # after repeating, in each training set
N_OTHERS = 2_100  # sentences without occupation and pronoun
N_TEST = 600
MAJORITY = 0.95
JUDGED = (200, 300, 600, 900)  # steps; the last is the end of training
RATE = 3e-3
OTHERS = {  # the data as they are once more: judged after, learning rate
    "longer": ((1_800,), RATE),
    "slower": (JUDGED[-1:], RATE / 3),
}
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
    "counterparts": "配对应句 | counterparts",
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


def train(
    sentences: list[OccupationSentence],
    seed: int,
    judged: tuple[int, ...] = JUDGED,
    learning_rate: float = RATE,
) -> Iterator[tuple[int, Translator]]:
    """Train one model, and give it out after each of the steps judged."""
    pairs = [(p.english, p.chinese) for p in sentences]
    pairs += draw_others(N_OTHERS, seed)
    everything = draw_occupations(5_000, 0.5, seed=10_000)
    source = WordTokenizer.train(p.english for p in everything)
    target = WordTokenizer.train(p.chinese for p in everything)
    config = TrainingConfig(
        max_steps=judged[-1],
        batch_tokens=1000,
        learning_rate=learning_rate,
        warmup_steps=50,
        seed=seed,
    )
    yield from fit_in_stages(pairs, (source, target), SIZES, config, judged)


def says(
    translator: Translator, sentences: list[OccupationSentence]
) -> tuple[list[str], torch.Tensor, torch.Tensor]:
    """The translations, whether they say 她, and if the pronoun is right."""
    outputs = translator.translate([p.english for p in sentences])
    says_she = torch.tensor(["她" in text for text in outputs])
    says_he = torch.tensor(["他" in text for text in outputs])
    is_woman = torch.tensor([p.is_woman for p in sentences])
    right = torch.where(is_woman, says_she & ~says_he, says_he & ~says_she)
    return outputs, says_she, right


def evaluate(
    translator: Translator, test: list[OccupationSentence]
) -> dict[str, float]:
    outputs, says_she, right = says(translator, test)
    references = [p.chinese.replace(" ", "") for p in test]
    exact = torch.tensor(
        [a == b for a, b in zip(outputs, references, strict=True)]
    )
    is_woman = torch.tensor([p.is_woman for p in test])
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
    results: dict[str, float] = {}
    trainings = {way: (way, JUDGED, RATE) for way in NAMES} | {
        name: ("as it is", *how) for name, how in OTHERS.items()
    }
    for name, (way, judged, rate) in trainings.items():
        training = mend(way, biased, seed)
        different = list(dict.fromkeys(training))
        majority = [p.is_majority for p in different]
        results[f"{name}: different"] = len(different)
        results[f"{name}: share of majority"] = sum(
            p.is_majority for p in training
        ) / len(training)
        for step, translator in train(training, seed, judged, rate):
            start = f"{name}, {step}"
            learnt = accuracy_by_group(
                says(translator, different)[2], majority
            )
            results[f"{start}: training, majority"] = learnt[True]
            results[f"{start}: training, minority"] = learnt[False]
            for what, value in evaluate(translator, test).items():
                results[f"{start}: {what}"] = value
    return results


def count(values: list[float]) -> str:
    """One number where all seeds have the same."""
    return f"{values[0]:.0f}" if len(set(values)) == 1 else spread(values, 0)


def tables(results: dict[str, list[float]]) -> dict[str, list[list[str]]]:
    columns = {
        "training, majority": "训练，多数 | training, majority",
        "training, minority": "训练，少数 | training, minority",
        "majority": "测试，多数 | test, majority",
        "minority": "测试，少数 | test, minority",
        "odds": "几率差 | odds difference",
        "as collected": "整句，有偏的分布 | sentence, biased mix",
    }

    def row(way: str, step: int, names: Iterable[str]) -> list[str]:
        return [
            percent(results[f"{way}, {step}: {name}"], 0) for name in names
        ]

    end = JUDGED[-1]
    over = [name for name in columns if name != "as collected"]
    steps = [
        ["步 | steps", *(columns[name] for name in over)],
        *([str(step), *row("as it is", step, over)] for step in JUDGED),
        [
            "1,800，另一次 | 1,800, another training",
            *row("longer", 1_800, over),
        ],
        [
            "900，学习率 0.001 | 900, at a rate of 0.001",
            *row("slower", end, over),
        ],
    ]
    shown = [name for name in columns if name != "training, majority"]
    occupations = [
        [
            "训练数据 | training data",
            "不同的句子 | different",
            *(columns[name] for name in shown),
        ],
        *(
            [
                title,
                count(results[f"{way}: different"]),
                *row(way, end, shown),
            ]
            for way, title in NAMES.items()
        ),
    ]
    on_the_way = [
        ["测试，少数 | test, minority", *map(str, JUDGED)],
        *(
            [
                title,
                *(row(way, step, ["minority"])[0] for step in JUDGED),
            ]
            for way, title in NAMES.items()
        ),
    ]
    return {
        "steps": steps,
        "occupations": occupations,
        "on-the-way": on_the_way,
    }
