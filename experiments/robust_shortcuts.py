"""Does a sentence follow from another? Three shortcuts, and counterexamples.

A classifier of sentences learns pairs of sentences in which overlap gives
the label away, together with more and more counterexamples. Then it learns
counterexamples against one of the three heuristics only. Every training has
as many pairs, of which half follow, and takes as many steps: counterexamples
replace other pairs that do not follow.

Counterexamples of lexical overlap are told apart: with a relative clause in
the premise ("that") the forms of the two sentences say that the second does
not follow; without one ("and"), only who does what to whom.
"""

import torch

from attention_book import accuracy_by_group
from attention_book.models.config import TextConfig
from attention_book.models.text import SequenceClassifier
from attention_book.tokenizers.special_tokens import BOS, EOS
from attention_book.tokenizers.words import WordTokenizer
from attention_book.training.classifiers import (
    TextBatches,
    predict,
    train_classifier,
)
from attention_book.training.loading import Example
from corpora.biased.shortcuts import HEURISTICS, Inference, make_inferences
from experiments.record import percent


SEEDS = range(3)
N_TRAIN = 3_000
N_TEST = 1_800
N_TEST_COUNTEREXAMPLES = 600
EPOCHS = 10
COUNTS = (0, 10, 30, 100, 300)  # counterexamples against each heuristic
ONE_KIND = 300  # counterexamples against one heuristic
COLUMNS = {
    "lexical overlap, that": "重叠，that | lexical, that",
    "lexical overlap, and": "重叠，and | lexical, and",
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


def train(
    training: list[Inference],
    seed: int,
    n_epochs: int = EPOCHS,
    learning_rate: float = 2e-3,
) -> SequenceClassifier:
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
        TextBatches(encode(tokenizer, training), seed=seed),
        n_epochs=n_epochs,
        learning_rate=learning_rate,
        weight_decay=0.1,
        seed=seed,
    )
    return model


def tokenizer_of_all() -> WordTokenizer:
    pairs = make_inferences(4_000, 1_000)
    return WordTokenizer.train(
        [text for pair in pairs for text in (pair.premise, pair.hypothesis)]
    )


def group(pair: Inference) -> str:
    """What is right, the heuristic, and the kind of lexical overlap."""
    answer = "follows" if pair.follows else "does not"
    if pair.follows or pair.heuristic != "lexical overlap":
        return f"{answer}, {pair.heuristic}"
    kind = "that" if " that " in pair.premise else "and"
    return f"{answer}, {pair.heuristic}, {kind}"


def evaluate(
    model: SequenceClassifier, test: list[Inference]
) -> dict[str, float]:
    """Accuracy where overlap says the truth, and where it does not."""
    found, label = predict(model, encode(tokenizer_of_all(), test))
    groups = accuracy_by_group(found == label, [group(pair) for pair in test])
    return {str(name): groups[name] for name in sorted(groups, key=str)}


def run(seed: int) -> dict[str, float]:
    test = make_inferences(N_TEST, N_TEST_COUNTEREXAMPLES, seed=1000 + seed)
    results: dict[str, float] = {}
    mixes: dict[str, tuple[int, tuple[str, ...]]] = {
        str(n): (n * len(HEURISTICS), HEURISTICS) for n in COUNTS
    }
    mixes |= {f"only {name}": (ONE_KIND, (name,)) for name in HEURISTICS}
    for mix, (n, heuristics) in mixes.items():
        training = make_inferences(
            N_TRAIN, n, seed=seed, heuristics=heuristics
        )
        model = train(training, seed)
        found, label = predict(model, encode(tokenizer_of_all(), training))
        learnt = (found == label).double().mean().item()
        results[f"{mix}, training"] = learnt
        for name, value in evaluate(model, test).items():
            results[f"{mix}: {name}"] = value
    return results


def tables(results: dict[str, list[float]]) -> dict[str, list[list[str]]]:
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
            percent(results[f"{mix}, training"], 0),
            percent(holds(mix), 0),
            *(
                percent(results[f"{mix}: does not, {name}"], 0)
                for name in COLUMNS
            ),
        ]

    head = [
        "训练集 | training set",
        "捷径对 | shortcut right",
        *COLUMNS.values(),
    ]
    counts = [row(str(n), f"{n:,}") for n in COUNTS]
    short = dict(
        zip(
            HEURISTICS,
            ("重叠 | lexical", "子序列 | subseq.", "成分 | const."),
            strict=True,
        )
    )
    only = [
        row(f"only {name}", f"{zh} {ONE_KIND} | {ONE_KIND} {en}")
        for name in HEURISTICS
        for zh, en in [short[name].split(" | ")]
    ]
    mixes = {
        "shortcuts": [["每种反例 | added of each", *head], *counts],
        "one-kind": [["只补一种 | one kind only", *head], *only],
    }
    return {
        name: [list(group) for group in zip(*rows, strict=True)]
        for name, rows in mixes.items()
    }
