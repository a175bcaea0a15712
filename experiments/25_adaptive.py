"""Sparse weights and learnt spans: chapter 25.

Cells of the chapter look up numbers among pairs, with four kinds of weights,
and copy a token from some way back, with and without a penalty of the span.
The digits are read with the same four kinds.
"""

from functools import cache
from typing import Any

import torch

from attention_book.adaptive import (
    EagerAttention,
    Entmax15Attention,
    EntmaxAttention,
    SparsemaxAttention,
    replace_attention,
)
from attention_book.multi_head import MultiHeadAttention
from attention_book.vit import ViT, ViTConfig, digits, train_classifier
from experiments.record import percent, spread
from literate.chapter import defined_in


SEEDS = range(3)
CHAPTER = "docs/chapters/25-adaptive.md"
PARTS = ("torch", "F", "train_recall", "recall", "train_delay")
KINDS: dict[str, type[MultiHeadAttention]] = {
    "softmax": EagerAttention,
    "entmax15": Entmax15Attention,
    "sparsemax": SparsemaxAttention,
    "entmax": EntmaxAttention,
}
KIND_NAMES = {
    "softmax": "softmax",
    "entmax15": "1.5-entmax",
    "sparsemax": "sparsemax",
    "entmax": "学来的 $\\alpha$ | learnt $\\alpha$",
}
N_PAIRS = (16, 64, 256, 1024)
EPOCHS = 12  # of the digits
PENALTIES = (0.0, 0.1, 0.3)


@cache
def cells() -> dict[str, Any]:
    return defined_in(CHAPTER, *PARTS)


def look_up(seed: int) -> dict[str, float]:
    found = {}
    for name, kind in KINDS.items():
        model = cells()["train_recall"](kind, seed)
        for n in N_PAIRS:
            found[f"{name}, {n} pairs"] = cells()["recall"](model, n)
        if isinstance(model.attention, EntmaxAttention):
            found["alpha"] = model.attention.alpha.item()
    return found


def read_digits(seed: int) -> dict[str, float]:
    train, test = digits()
    sizes = {"d_model": 64, "n_heads": 4, "d_ff": 128, "n_layers": 3}
    shape = {"image_size": 8, "patch_size": 2, "n_channels": 1}
    found = {}
    for name, kind in KINDS.items():
        torch.manual_seed(seed)
        plain = ViT(ViTConfig(n_classes=10, **shape, **sizes))
        model = replace_attention(plain, kind)
        train_classifier(model, train, n_epochs=EPOCHS, seed=seed)
        with torch.no_grad():
            right = model(test.images).argmax(dim=1) == test.labels
        found[f"{name}, digits"] = right.double().mean().item()
    return found


def delays(seed: int) -> dict[str, float]:
    found = {}
    for penalty in PENALTIES:
        accuracy, spans = cells()["train_delay"](penalty, seed)
        found[f"delay {penalty}, accuracy"] = accuracy
        for i, span in enumerate(sorted(spans, reverse=True)):
            found[f"delay {penalty}, span {i}"] = span
    return found


def run(seed: int) -> dict[str, float]:
    torch.set_num_threads(1)
    return look_up(seed) | read_digits(seed) | delays(seed)


def tables(results: dict[str, list[float]]) -> dict[str, list[list[str]]]:
    shown = [n for n in N_PAIRS if n != 64]  # so that the table is not wide
    kinds = [["权重 | weights", "数字 | digits"]]
    kinds[0] += [f"{n:,} 对 | {n:,} pairs" for n in shown]
    for name, title in KIND_NAMES.items():
        accuracy = results[f"{name}, digits"]
        errors = [results[f"{name}, {n} pairs"] for n in shown]
        kinds.append([title, percent(accuracy), *map(spread, errors)])
    spans = [
        ["惩罚 | penalty", "正确率 | accuracy"]
        + [f"第 {i} 个头 | head {i}" for i in range(1, 5)]
    ]
    for penalty in PENALTIES:
        accuracy = percent(results[f"delay {penalty}, accuracy"])
        values = [results[f"delay {penalty}, span {i}"] for i in range(4)]
        spans.append(
            [f"{penalty:g}", accuracy, *(spread(x, 1) for x in values)]
        )
    return {"kinds": kinds, "spans": spans}
