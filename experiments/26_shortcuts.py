"""Does a sentence follow from another? Three shortcuts, and counterexamples.

The classifier of chapter 16 learns pairs of sentences in which overlap gives
the label away, together with more and more counterexamples. Then it learns
counterexamples against one of the three heuristics only. Every training has
as many pairs and takes as many steps: counterexamples replace other pairs.
"""

import torch

from attention_book.corpus import BOS, EOS, WordTokenizer
from attention_book.robust import (
    HEURISTICS,
    Inference,
    accuracy_by_group,
    make_inferences,
)
from attention_book.tasks import SequenceClassifier, TextConfig
from attention_book.tasks.training import Example, predict, train_classifier
from experiments.record import percent


SEEDS = range(3)
N_TRAIN = 3_000
N_TEST = 600  # as many of them again are counterexamples
EPOCHS = 10
COUNTS = (0, 30, 100, 300, 1_000)
ONE_KIND = 300  # counterexamples against one heuristic
NAMES = {
    "lexical overlap": "词语重叠 | lexical overlap",
    "subsequence": "子序列 | subsequence",
    "constituent": "成分 | constituent",
}


def encode(tokenizer: WordTokenizer, pairs: list[Inference]) -> list[Example]:
    """Both sentences with <eos> between them, and the label."""
    return [
        (
            [
                BOS,
                *tokenizer.encode(pair.premise),
                EOS,
                *tokenizer.encode(pair.hypothesis),
            ],
            [int(pair.follows)],
        )
        for pair in pairs
    ]


def train(training: list[Inference], seed: int) -> SequenceClassifier:
    tokenizer = tokenizer_of_all()
    torch.manual_seed(seed)
    model = SequenceClassifier(
        TextConfig(
            vocab_size=len(tokenizer),
            max_length=32,
            d_model=64,
            n_heads=4,
            d_ff=128,
            n_layers=2,
            dropout=0.0,
        ),
        2,
    )
    train_classifier(
        model,
        encode(tokenizer, training),
        n_epochs=EPOCHS,
        learning_rate=2e-3,
        seed=seed,
    )
    return model


def tokenizer_of_all() -> WordTokenizer:
    pairs = make_inferences(2_000, 2_000)
    return WordTokenizer.train(
        [text for pair in pairs for text in (pair.premise, pair.hypothesis)]
    )


def evaluate(
    model: SequenceClassifier, test: list[Inference]
) -> dict[str, float]:
    """Accuracy where overlap says the truth, and where it does not."""
    found, label = predict(model, encode(tokenizer_of_all(), test))
    groups = accuracy_by_group(found == label, [pair.group for pair in test])
    return {
        f"{'follows' if follows else 'does not'}, {heuristic}": value
        for (heuristic, follows), value in sorted(groups.items())
    }


def run(seed: int) -> dict[str, float]:
    test = make_inferences(N_TEST, N_TEST, seed=1000 + seed)
    results: dict[str, float] = {}
    mixes: dict[str, tuple[int, tuple[str, ...]]] = {
        str(n): (n, HEURISTICS) for n in COUNTS
    }
    mixes |= {f"only {name}": (ONE_KIND, (name,)) for name in HEURISTICS}
    for mix, (n, heuristics) in mixes.items():
        training = make_inferences(
            N_TRAIN - n, n, seed=seed, heuristics=heuristics
        )
        model = train(training, seed)
        for group, value in evaluate(model, test).items():
            results[f"{mix}: {group}"] = value
    return results


def tables(results: dict[str, list[float]]) -> dict[str, list[list[str]]]:
    def worst(mix: str) -> list[float]:
        columns = [
            values
            for name, values in results.items()
            if name.startswith(f"{mix}: ")
        ]
        return [min(of_seed) for of_seed in zip(*columns, strict=True)]

    def holds(mix: str) -> list[float]:
        """The mean over all groups in which overlap says the truth."""
        columns = [
            values
            for name, values in results.items()
            if name.startswith(f"{mix}: ")
            and ("follows" in name or "no overlap" in name)
        ]
        return [
            sum(of_seed) / len(of_seed)
            for of_seed in zip(*columns, strict=True)
        ]

    def row(mix: str, title: str) -> list[str]:
        return [
            title,
            percent(holds(mix), 0),
            *(
                percent(results[f"{mix}: does not, {name}"], 0)
                for name in HEURISTICS
            ),
            percent(worst(mix), 0),
        ]

    head = [
        "反例 | added",
        "捷径对 | shortcut right",
        "词语重叠 | lexical",
        "子序列 | subsequence",
        "成分 | constituent",
        "最差 | worst",
    ]
    counts = [row(str(n), f"{n:,}") for n in COUNTS]
    short = dict(
        zip(
            HEURISTICS,
            ("词语重叠 | lexical", "子序列 | subseq.", "成分 | const."),
            strict=True,
        )
    )
    only = [
        row(f"only {name}", f"{ONE_KIND} {zh} | {ONE_KIND} {en}")
        for name in HEURISTICS
        for zh, en in [short[name].split(" | ")]
    ]
    return {"shortcuts": [head, *counts, *only]}
