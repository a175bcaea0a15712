"""What a map of cross-attention says, asked the other way round.

The question of `interpret_readings` is whether the word that a token depends
on has the largest weight. Here: does a token depend on the word with a large
weight, is there an order among the other words that a map could get right,
and how far does a dictionary get that was counted from the corpus and never
saw the model?
"""

from collections import Counter
from typing import Any

import torch
from torch import Tensor

from attention_book import Translator, trace
from attention_book.data.sources import load_corpus
from attention_book.data.split import make_split
from corpora.biased.replays import ReplayableGrammar
from experiments.interpret_readings import MOVED, N, replaced, teacher_forced
from experiments.record import percent
from experiments.translators import translator, unseen


SEEDS = range(3)
LARGE = 0.5  # a weight that one sees in a map at once


class Dictionary:
    """How well two words go together: sentences with both, by each alone."""

    def __init__(self, pairs: list[tuple[str, str]]) -> None:
        split = [(set(en.split()), set(zh.split())) for en, zh in pairs]
        self.english = Counter(w for en, _ in split for w in en)
        self.chinese = Counter(w for _, zh in split for w in zh)
        self.both = Counter((a, b) for en, zh in split for a in en for b in zh)

    def __call__(self, english: str, chinese: str) -> float:
        alone = self.english[english] * self.chinese[chinese]
        return float(self.both[english, chinese] / max(alone, 1) ** 0.5)


def run(seed: int) -> dict[str, float]:
    original = translator(seed)
    known = Dictionary(load_corpus("grammar").train)
    grammar = ReplayableGrammar()
    make_split(n_train=1, n_test=1000, grammar=grammar)
    rows = [reading(original, known, grammar, text) for text, _ in unseen(N)]
    weights, words, falls = (
        [row for some in part for row in some]
        for part in zip(*rows, strict=True)
    )
    depends = [i for i, fall in enumerate(falls) if fall.max() > MOVED]
    rest = [i for i, fall in enumerate(falls) if fall.max() <= MOVED]
    others = torch.cat([falls[i].sort().values[:-1] for i in depends])
    large = torch.cat(
        [f[w > LARGE] for f, w in zip(falls, weights, strict=True)]
    )

    def first(readings: list[Tensor]) -> float:
        same = [readings[i].argmax() == falls[i].argmax() for i in depends]
        return sum(map(bool, same)) / len(same)

    return {
        "attention": first(weights),
        "dictionary": first(words),
        "others, below 0.01": (others < 0.01).double().mean().item(),
        "others, weight": sum(
            1 - (weights[i].max() / weights[i].sum()).item() for i in depends
        )
        / len(depends),
        "large, matter": (large > MOVED).double().mean().item(),
        "rest, large": sum(bool((weights[i] > LARGE).any()) for i in rest)
        / len(rest),
    }


@torch.no_grad()
def reading(
    original: Translator, known: Dictionary, grammar: Any, text: str
) -> tuple[list[Tensor], list[Tensor], list[Tensor]]:
    """Of each token, over the words that can be replaced: weights, fit, falls."""
    inputs, score = teacher_forced(original, text)
    found = trace(original.model, inputs, ["*cross_attention.weights"])
    weights = torch.stack(list(found.activations.values())).mean(dim=(0, 2))[0]
    others = [phrase.english for phrase in grammar.neighbours(text)]
    falls, there = replaced(original, inputs, score, others)
    source = [original.source.decode([i]) for i in inputs[0][0].tolist()]
    (target,) = original.generate([inputs[0][0].tolist()])
    written = [original.target.decode([i]) for i in target]
    fit = torch.tensor([[known(en, zh) for en in source] for zh in written])
    return tuple(list(x[:, there]) for x in (weights, fit, falls))  # type: ignore[return-value]


def tables(results: dict[str, list[float]]) -> dict[str, list[list[str]]]:
    def row(title: str, key: str) -> list[str]:
        return [title, percent(results[key], 0)]

    return {
        "converse": [
            ["问什么 | question", "百分比 | percent"],
            row(
                "依赖的词权重最大 | largest weight at the word it depends on",
                "attention",
            ),
            row(
                "同上，数语料得来的词典 | the same, a dictionary from the corpus",
                "dictionary",
            ),
            row(
                "其余的词换掉，降不到 0.01 | other words, fall below 0.01",
                "others, below 0.01",
            ),
            row(
                "最大的一个以外，能换的词的权重 | weight beside the largest, on words that can be replaced",
                "others, weight",
            ),
            row(
                "权重过半的词确实要紧 | a weight above a half matters",
                "large, matter",
            ),
            row(
                "不依赖哪个词，仍有一个权重过半 | depends on none, one weight above a half",
                "rest, large",
            ),
        ]
    }
