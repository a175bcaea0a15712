"""One, two or four heads read who chases whom, for "Multi-head attention".

The model and its training are those of the chapter's cells.
"""

from experiments.record import percent
from literate.chapter import defined_in


SEEDS = range(5)
HEADS = (1, 2, 4)
CHAPTER = "docs/attention/multi-head.md"
PARTS = ("torch", "ClauseReader", "clauses", "train")


def run(seed: int) -> dict[str, float]:
    train = defined_in(CHAPTER, *PARTS)["train"]
    return {f"{n} heads": train(n, seed)[1] for n in HEADS}


def tables(results: dict[str, list[float]]) -> dict[str, list[list[str]]]:
    head = ["头 | heads", "主语和宾语都对 | subject and object right"]
    rows = [[f"{n}", percent(results[f"{n} heads"])] for n in HEADS]
    return {"clauses": [head, *rows]}
