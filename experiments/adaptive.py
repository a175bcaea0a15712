"""Sparse weights and learnt spans, for "Adaptive attention".

Numbers are looked up among pairs. Do three kinds of weights differ, each at
the learning rate that is best for it, when there are more pairs than in
training? And is a difference left when the scores are larger, or so large
that hardly a key but the best has any weight? A token is
copied from some way back, with and without a penalty of the span.
"""

import statistics
from collections.abc import Callable

import torch
from torch import Tensor

from attention_book import replace_attention
from attention_book.attention.entmax import entmax15
from attention_book.attention.sparse import (
    EagerAttention,
    SparsemaxAttention,
)
from experiments.attention_tasks import (
    log_n,
    recall,
    scaled,
    train_delay,
    train_recall,
)
from experiments.record import percent, spread


SEEDS = range(10)


class Entmax15Attention(EagerAttention):
    """Multi-head attention with 1.5-entmax for softmax."""

    def weights(self, scores: Tensor, mask: Tensor | None) -> Tensor:
        return entmax15(scores, mask)


KINDS: dict[str, type[EagerAttention]] = {
    "softmax": EagerAttention,
    "1.5-entmax": Entmax15Attention,
    "sparsemax": SparsemaxAttention,
}
RATES = (5e-3, 1e-2, 2e-2)
STEPS = 1600  # of looking up
FACTORS: dict[str, Callable[[int], float]] = {
    "x 1": lambda n: 1.0,
    "x log n": log_n,
    "x 1000": lambda n: 1000.0,  # nearly all weight on the best key
}
VALIDATION = 2000  # draws memories by which a rate is chosen
PENALTIES = (0.0, 0.1, 0.3)


def look_up(seed: int) -> dict[str, float]:
    found = {}
    for name, kind in KINDS.items():
        for rate in RATES:
            model = train_recall(kind, seed, STEPS, rate)
            key = f"{name}, rate {rate}"
            found[f"{key}, validation"] = recall(model, 16, VALIDATION)
            found[f"{key}, 16 pairs"] = recall(model, 16)
            for title, factor in FACTORS.items():
                larger = replace_attention(model, scaled(kind, factor))
                found[f"{key} {title}, 1024 pairs"] = recall(larger, 1024)
    return found


def delays(seed: int) -> dict[str, float]:
    found = {}
    for penalty in PENALTIES:
        accuracy, spans = train_delay(penalty, seed)
        found[f"delay {penalty}, accuracy"] = accuracy
        for i, span in enumerate(sorted(spans, reverse=True)):
            found[f"delay {penalty}, span {i}"] = span
    return found


def run(seed: int) -> dict[str, float]:
    torch.set_num_threads(1)
    return look_up(seed) | delays(seed)


def tables(results: dict[str, list[float]]) -> dict[str, list[list[str]]]:
    pairs = [
        [
            "权重，学习率 | weights, learning rate",
            "16 对，验证 | 16 pairs, validation",
            "1,024 对 | 1,024 pairs",
            "得分 × $\\log_{16} n$ | scores × $\\log_{16} n$",
            "得分 × 1,000 | scores × 1,000",
        ]
    ]
    columns = [", validation", *(f" {x}, 1024 pairs" for x in FACTORS)]
    for name in KINDS:
        keys = [f"{name}, rate {rate}" for rate in RATES]
        best = min(
            keys,
            key=lambda key: statistics.fmean(results[f"{key}, validation"]),
        )
        for rate, key in zip(RATES, keys, strict=True):
            title = f"{name}, {rate:g}"
            if key == best:
                title = f"{name}, {rate:g}，选中 | {name}, {rate:g}, chosen"
            values = [spread(results[key + column], 4) for column in columns]
            pairs.append([title, *values])
    spans = [
        ["惩罚 $\\lambda$ | penalty $\\lambda$", "正确率 | accuracy"]
        + [f"第 {i} 个头 | head {i}" for i in range(1, 5)]
    ]
    for penalty in PENALTIES:
        right_ones = percent(results[f"delay {penalty}, accuracy"])
        values = [results[f"delay {penalty}, span {i}"] for i in range(4)]
        spans.append(
            [f"{penalty:g}", right_ones, *(spread(x, 1) for x in values)]
        )
    return {"pairs": pairs, "spans": spans}
