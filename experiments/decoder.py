"""A decoder that sees the future while it learns.

A decoder layer learns to write eight digits in order, once with its causal
mask and once without. The loss is that of teacher forcing, with the source
and with that of another sequence; then each writes digits by itself. The
model and its training are those of the chapter's cells.
"""

from typing import Any

import torch
import torch.nn.functional as F

from experiments.record import percent, spread
from literate.chapter import defined_in


SEEDS = range(5)
CHAPTER = "docs/transformer/decoder.md"
PARTS = ("torch", "Sorter", "pairs", "train", "generate_slowly")
ROWS = {
    "causal": "有因果掩码 | with the causal mask",
    "open": "没有掩码 | without a mask",
}


def trial(causal: bool, seed: int) -> dict[str, float]:
    """How a model does, when trained with or without the causal mask."""
    cells: dict[str, Any] = defined_in(CHAPTER, *PARTS)
    model = cells["train"](causal, seed)
    source, target = cells["pairs"](1000)
    labels = target[:, 1:]
    with torch.no_grad():
        logits = model(source, target[:, :-1])
        final = F.cross_entropy(logits.flatten(0, 1), labels.flatten()).item()
        forced = logits.argmax(dim=-1) == labels
        logits = model(source.roll(1, dims=0), target[:, :-1])
        copied = logits.argmax(dim=-1) == labels
    written = cells["generate_slowly"](model, source)
    right = (written == target)[:, 1:]
    return {
        "loss": final,
        "forced": forced[:, :-1].double().mean().item(),
        "copied": copied[:, :-1].double().mean().item(),  # digits only
        "tokens": right[:, :-1].double().mean().item(),
        "sequences": right.all(dim=1).double().mean().item(),
    }


def run(seed: int) -> dict[str, float]:
    return {
        f"{name}, {what}": value
        for name in ROWS
        for what, value in trial(name == "causal", seed).items()
    }


def tables(results: dict[str, list[float]]) -> dict[str, list[list[str]]]:
    head = [
        "训练 | training",
        "损失 | loss",
        "教师强制，词元对 | teacher-forced, tokens right",
        "原文换错，标签对 | wrong source, labels right",
        "自己写，词元对 | alone, tokens right",
        "整句对 | sequences right",
    ]
    rows = [
        [
            title,
            spread(results[f"{name}, loss"]),
            percent(results[f"{name}, forced"], 1),
            percent(results[f"{name}, copied"], 0),
            percent(results[f"{name}, tokens"], 0),
            percent(results[f"{name}, sequences"], 0),
        ]
        for name, title in ROWS.items()
    ]
    return {"leak": [head, *rows]}
