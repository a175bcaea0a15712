"""One context vector for all words, or one for each, with tuned rates.

The question: at how many clauses does a fixed context vector fail, and does
attention do better? The opponent is the decoder of Cho et al. (2014), where
the vector enters every step of the recurrence. The claim of the chapter would
be refuted if it came near attention, trained alike or four times as long.

Each arm is trained with four learning rates, and the one with the lowest loss
on validation sentences is tested. Sentences, training and translation are
those of the chapter's cells.
"""

import random
from typing import Any

import torch
from torch import nn

from attention_book.models.seq2seq import AttentiveSeq2Seq, Seq2Seq
from experiments.record import percent
from literate.chapter import defined_in


SEEDS = range(3)
CHAPTER = "docs/attention/recurrent.md"
PARTS = ("make_pair", "batch", "train", "greedy_translate")
RATES = (0.006, 0.012, 0.024, 0.048)  # the peaks of the schedule
CLAUSES = (1, 2, 3, 4)
TRAINED = (1, 2, 3)
VALIDATION = 100  # sentences of each length


ARMS: dict[str, tuple[str, type[Seq2Seq], int]] = {
    # the title, the class and the number of batches
    "fixed": ("固定的 C | fixed C", Seq2Seq, 500),
    "fixed, long": (
        "固定的 C，训练 4 倍 | fixed C, 4 times the training",
        Seq2Seq,
        2000,
    ),
    "attention": ("注意力 | attention", AttentiveSeq2Seq, 500),
}


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


@torch.no_grad()
def validation_loss(cells: dict[str, Any], model: Seq2Seq) -> float:
    """Mean loss over sentences of one, two and three clauses."""
    losses = []
    for n in TRAINED:
        rng = random.Random(f"validation {n}")
        pairs = [cells["make_pair"](rng, n) for _ in range(VALIDATION)]
        source, target, lengths = cells["batch"](pairs)
        logits = model(source, lengths, target[:, :-1])
        loss = nn.functional.cross_entropy(
            logits.flatten(0, 1), target[:, 1:].flatten(), ignore_index=0
        )
        losses.append(loss.item())
    return sum(losses) / len(losses)


def run(seed: int) -> dict[str, float]:
    cells: dict[str, Any] = defined_in(CHAPTER, *PARTS)
    found: dict[str, float] = {}
    for name, (_, kind, n_batches) in ARMS.items():
        models = {
            rate: cells["train"](kind, 64, n_batches, rate, seed=seed)
            for rate in RATES
        }
        losses = {
            rate: validation_loss(cells, model)
            for rate, model in models.items()
        }
        best = min(losses, key=losses.__getitem__)
        model = models[best]
        found[f"{name}, rate"] = best
        found[f"{name}, parameters"] = sum(
            p.numel() for p in model.parameters()
        )
        for n in CLAUSES:
            found[f"{name}, {n}"] = exact(cells, model, n)
    return found


def tables(results: dict[str, list[float]]) -> dict[str, list[list[str]]]:
    head = ["整句全对 | every word right", "参数 | parameters"]
    head += [f"{n} 个分句 | {n} clause{'s' * (n > 1)}" for n in CLAUSES]
    rows = [
        [
            title,
            f"{results[f'{name}, parameters'][0]:,.0f}",
            *(percent(results[f"{name}, {n}"], 0) for n in CLAUSES),
        ]
        for name, (title, _, _) in ARMS.items()
    ]
    return {"accuracy": [head, *rows]}
