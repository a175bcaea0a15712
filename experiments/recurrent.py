"""A fixed context vector in a larger model, and with more training.

Is it only for want of parameters or of training that it fails? The models
translate sentences of one to three clauses, trained on batches drawn anew,
and are tested on sentences of one to four. Sentences, training, with its
default rate, and translation are those of the chapter's cells. What the rate
and the opponent's design do is in context_vectors.py.
"""

import random
from typing import Any

from attention_book.models.seq2seq import Seq2Seq
from experiments.record import percent
from literate.chapter import defined_in


SEEDS = range(5)
CLAUSES = range(1, 5)  # of a sentence; in training there are three at most
MODELS: dict[str, tuple[type[Seq2Seq], int, int]] = {
    # the class, d_model and the number of batches
    "fixed, wider": (Seq2Seq, 96, 500),
    "fixed, wide and long": (Seq2Seq, 128, 4000),
}
NAMES = {
    "fixed, wider": "宽 96 | width 96",
    "fixed, wide and long": "宽 128，训练 8 倍 | width 128, 8 times the training",
}
CHAPTER = "docs/attention/recurrent.md"
PARTS = ("make_pair", "batch", "train", "greedy_translate")


def exact(
    cells: dict[str, Any], model: Seq2Seq, n_clauses: int, count: int = 500
) -> float:
    """The fraction of sentences with every word right."""
    rng = random.Random(f"test {n_clauses}")  # the same for all models
    pairs = [cells["make_pair"](rng, n_clauses) for _ in range(count)]
    source, target, lengths = cells["batch"](pairs)
    wanted = target[:, 1:]
    longest = wanted.shape[1]
    found = cells["greedy_translate"](model, source, lengths, longest)
    right = (found == wanted) | (wanted == cells["PAD"])
    return right.all(dim=1).float().mean().item()


def run(seed: int) -> dict[str, float]:
    cells: dict[str, Any] = defined_in(CHAPTER, *PARTS)
    found = {}
    for name, (kind, d_model, n_batches) in MODELS.items():
        model = cells["train"](kind, d_model, n_batches, seed=seed)
        for n in CLAUSES:
            found[f"{name}, {n}"] = exact(cells, model, n)
    return found


def tables(results: dict[str, list[float]]) -> dict[str, list[list[str]]]:
    head = ["整句全对 | every word right"]
    head += [f"{n} 个分句 | {n} clause{'s' * (n > 1)}" for n in CLAUSES]
    rows = [
        [title, *(percent(results[f"{name}, {n}"], 0) for n in CLAUSES)]
        for name, title in NAMES.items()
    ]
    return {"larger": [head, *rows]}
