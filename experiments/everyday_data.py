"""What more data give, and what a careless split would have claimed.

The small translator of the search learns from 1,000, 3,000, 10,000 and all
pairs, each time until the loss of validation sentences has risen again or
the steps are over, and the least loss on the way counts. A last arm validates
on pairs drawn at random, near copies of which are trained on.

Not run to its end: it has no record yet.
"""

import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from experiments.everyday import Recipe, kept_in, train
from experiments.everyday_search import BASE
from experiments.record import spread


RUNS = range(3)
ALL = replace(
    BASE,
    n_pairs=None,
    batch_tokens=2000,
    max_steps=2500,
    warmup_steps=200,
    watched=True,
)
ARMS = {
    "1,000": replace(ALL, n_pairs=1000, max_steps=1000),
    "3,000": replace(ALL, n_pairs=3000, max_steps=1500),
    "10,000": replace(ALL, n_pairs=10_000, max_steps=3000),
    "27,055": ALL,
    "careless": replace(ALL, careless=True),
}


def measure(name: str, recipe: Recipe, seed: int) -> dict[str, float]:
    """Train an arm, and keep the least loss, in bits a character."""
    path = kept_in(recipe, seed).with_suffix(".bits.json")
    if not path.exists():
        train(recipe, seed, f"{name}, seed {seed}:")
    watched: dict[str, list[float]] = json.loads(path.read_text("utf-8"))
    best = min(watched, key=lambda step: sum(watched[step]))
    found = dict(zip(("en-zh", "zh-en"), watched[best], strict=True))
    found["steps"] = int(best)
    return {f"{name}: {key}": value for key, value in found.items()}


def run(seed: int) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, recipe in ARMS.items():
        found |= measure(name, recipe, seed)
    return found


def tables(results: dict[str, list[Any]]) -> dict[str, list[list[str]]]:
    rows = [
        [
            "训练句对 | training pairs",
            "英译汉，比特 | en–zh, bits",
            "汉译英，比特 | zh–en, bits",
            "步数 | steps",
        ]
    ]
    for name in ARMS:

        def cell(key: str, digits: int, name: str = name) -> str:
            values: Sequence[float] = results[f"{name}: {key}"]
            return spread(values, digits)

        careless = "27,055，随便抽的考题 | 27,055, careless split"
        title = careless if name == "careless" else name
        rows.append(
            [title, cell("en-zh", 2), cell("zh-en", 2), cell("steps", 0)]
        )
    return {"amount": rows}


if __name__ == "__main__":
    first, step = map(int, sys.argv[1:])
    jobs = [(name, seed) for seed in RUNS for name in ARMS]
    for arm, seed in jobs[first::step]:
        measure(arm, ARMS[arm], seed)
