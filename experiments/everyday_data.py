"""What more data give, and what near copies of the questions would add.

The small translator of the search, with the dropout that was best there in
few epochs, learns from 1,000, 3,000, 10,000 and all pairs, and counts as it
was when the loss of validation sentences, looked at every 250 steps, was
least. A last arm learns from 10,000 pairs and half of the validation
sentences as well. Of the other half, those that are nearly like one of these
should be translated better, as a careless split would have it; what is not
like them should not.

To train arms beforehand, in several processes: `python -m
experiments.everyday_data 0 2` takes every second one, from the first on.
"""

import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from experiments.everyday import Recipe, kept_in, questions, train
from experiments.everyday_search import BASE
from experiments.record import spread


SEEDS = range(3)
ALL = replace(
    BASE,
    n_pairs=None,
    dropout=0.1,
    batch_tokens=2000,
    max_steps=4000,
    warmup_steps=200,
    watched=True,
)
TEN = replace(ALL, n_pairs=10_000, max_steps=2000)
ARMS = {
    "1,000": replace(ALL, n_pairs=1000, max_steps=600),
    "3,000": replace(ALL, n_pairs=3000, max_steps=1200),
    "10,000": TEN,
    "27,055": ALL,
    "careless": replace(TEN, careless=True),
}
WAYS = {
    "en-zh": "英译汉，比特 | en–zh, bits",
    "zh-en": "汉译英，比特 | zh–en, bits",
}


def measure(name: str, recipe: Recipe, seed: int) -> dict[str, float]:
    """Train an arm, and keep losses, in bits a character."""
    path = kept_in(recipe, seed).with_suffix(".bits.json")

    def watched() -> dict[str, list[float]]:
        return json.loads(path.read_text("utf-8")) if path.exists() else {}

    if str(recipe.max_steps) not in watched():
        train(recipe, seed, f"{name}, seed {seed}:")
    bits = watched()
    best = min(bits, key=lambda step: sum(bits[step][:2]))
    last = bits[str(recipe.max_steps)]
    parts = {"": bits[best][:2], "near, ": last[2:4], "alone, ": last[4:]}
    found: dict[str, float] = {f"{name}: steps": int(best)}
    for part, values in parts.items():
        for way, value in zip(WAYS, values, strict=True):
            found[f"{name}: {part}{way}"] = value
    return found


def run(seed: int) -> dict[str, Any]:
    near, alone, _ = questions()
    found: dict[str, Any] = {"near": len(near), "alone": len(alone)}
    for name, recipe in ARMS.items():
        found |= measure(name, recipe, seed)
    return found


def tables(results: dict[str, list[Any]]) -> dict[str, list[list[str]]]:
    def cell(key: str, digits: int = 2) -> str:
        values: Sequence[float] = results[key]
        return spread(values, digits)

    amount = [["训练句对 | training pairs", *WAYS.values(), "步数 | steps"]]
    for name in ARMS:
        if name != "careless":
            row = [cell(f"{name}: {way}") for way in WAYS]
            amount.append([name, *row, cell(f"{name}: steps", 0)])
    head = [
        "没学近似句，英译汉 | not learnt, en–zh",
        "汉译英 | zh–en",
        "学了，英译汉 | learnt, en–zh",
        "汉译英 | zh–en",
    ]
    copies = [["考题 | questions", *head]]
    titles = {
        "near": "有近似句的 {} 句 | {} with near copies",
        "alone": "没有的 {} 句 | {} without",
    }
    for part, title in titles.items():
        row = [
            cell(f"{name}: {part}, {way}")
            for name in ("10,000", "careless")
            for way in WAYS
        ]
        n = int(results[part][0])
        copies.append([title.format(n, n), *row])
    return {"amount": amount, "copies": copies}


if __name__ == "__main__":
    first, step = map(int, sys.argv[1:])
    jobs = [(name, seed) for seed in SEEDS for name in ARMS]
    for arm, seed in jobs[first::step]:
        measure(arm, ARMS[arm], seed)
