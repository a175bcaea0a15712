"""What more data give, and what a careless split would have claimed.

The small translator of the search learns from 1,000, 3,000, 10,000 and all
pairs, and counts as it was when the loss of validation sentences, looked at
every 250 steps, was least. Beside these sentences, none of which is nearly
like one to learn from, as many are set aside that were drawn at random, as a
careless split would: the same models are held against them.

To train arms beforehand, in several processes: `python -m
experiments.everyday_data 0 2` takes every second one, from the first on.

Not run to its end: it has no record yet.
"""

import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from experiments.everyday import Recipe, kept_in, pairs_of, train
from experiments.everyday_search import BASE
from experiments.record import spread


RUNS = range(3)
ALL = replace(
    BASE,
    n_pairs=None,
    careless=True,
    batch_tokens=2000,
    max_steps=4000,
    warmup_steps=200,
    watched=True,
)
ARMS = {
    "1,000": replace(ALL, n_pairs=1000, max_steps=1000),
    "3,000": replace(ALL, n_pairs=3000, max_steps=1500),
    "10,000": replace(ALL, n_pairs=10_000, max_steps=3000),
    "all": ALL,
}
COLUMNS = {
    "en-zh": "英译汉，比特 | en–zh, bits",
    "careless en-zh": "随便抽的 | drawn carelessly",
    "zh-en": "汉译英，比特 | zh–en, bits",
    "careless zh-en": "随便抽的 | drawn carelessly",
    "steps": "步数 | steps",
}


def measure(name: str, recipe: Recipe, seed: int) -> dict[str, float]:
    """Train an arm, and keep the least loss, in bits a character."""
    path = kept_in(recipe, seed).with_suffix(".bits.json")

    def watched() -> dict[str, list[float]]:
        return json.loads(path.read_text("utf-8")) if path.exists() else {}

    if str(recipe.max_steps) not in watched():
        train(recipe, seed, f"{name}, seed {seed}:")
    bits = watched()
    best = min(bits, key=lambda step: sum(bits[step][:2]))
    ways = ("en-zh", "zh-en", "careless en-zh", "careless zh-en")
    found = dict(zip(ways, bits[best], strict=True))
    found["steps"] = int(best)
    return {f"{name}: {key}": value for key, value in found.items()}


def run(seed: int) -> dict[str, Any]:
    found: dict[str, Any] = {"all pairs": len(pairs_of(ALL)[0])}
    for name, recipe in ARMS.items():
        found |= measure(name, recipe, seed)
    return found


def tables(results: dict[str, list[Any]]) -> dict[str, list[list[str]]]:
    rows = [["训练句对 | training pairs", *COLUMNS.values()]]
    for name in ARMS:
        row = [name if name != "all" else f"{results['all pairs'][0]:,}"]
        for key in COLUMNS:
            values: Sequence[float] = results[f"{name}: {key}"]
            row.append(spread(values, 0 if key == "steps" else 2))
        rows.append(row)
    return {"amount": rows}


if __name__ == "__main__":
    first, step = map(int, sys.argv[1:])
    jobs = [(name, seed) for seed in RUNS for name in ARMS]
    for arm, seed in jobs[first::step]:
        measure(arm, ARMS[arm], seed)
