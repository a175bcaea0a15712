# Made from docs/language/tasks.md (46410a09f1b9). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""Training of classifiers of text.

Explained in the chapter "Three shapes of task".
"""

import random
from collections.abc import Sequence

import torch
import torch.nn.functional as F
from jaxtyping import Int
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence

from attention_book._checks import check_positive, check_size
from attention_book.data.batches import make_batches, pad


__all__ = ["IGNORED", "Example", "collate", "predict", "train_classifier"]


IGNORED = -100  # the label that cross_entropy leaves out
Example = tuple[list[int], list[int]]  # token ids, and labels


def collate(
    examples: Sequence[Example],
) -> tuple[
    Int[Tensor, "batch length"],
    Int[Tensor, " batch"],
    Int[Tensor, "batch labels"],
]:
    """Pad examples; return token ids, lengths and labels.

    Raises:
        ValueError: There are no examples.
    """
    if not examples:
        raise ValueError("examples must not be empty, got none")
    token_ids, lengths = pad([tokens for tokens, _ in examples])
    labels = [torch.tensor(label) for _, label in examples]
    return token_ids, lengths, pad_sequence(labels, True, IGNORED)


def train_classifier(
    model: nn.Module,
    examples: Sequence[Example],
    *,
    n_epochs: int,
    learning_rate: float,
    batch_tokens: int = 600,
    seed: int = 0,
) -> None:
    """Train a classifier of tokens or of sequences, with AdamW.

    Args:
        model: Returns the logits of token ids and lengths.
        examples: As many labels as tokens each, or one.
        n_epochs: How often each example is seen.
        learning_rate: The largest, which a cycle rises to and falls from.
        batch_tokens: Largest size of a batch, padding included.
        seed: Of the order of the batches.

    Raises:
        ValueError: A number is out of range, or there are no examples.
    """
    check_size("n_epochs", n_epochs)
    check_positive("learning_rate", learning_rate)
    rng = random.Random(seed)
    n_tokens = [len(tokens) for tokens, _ in examples]
    batches: list[list[int]] = []
    for _ in range(n_epochs):
        batches += make_batches(n_tokens, batch_tokens, rng)
    if not batches:
        raise ValueError("examples must not be empty, got none")
    optimizer = torch.optim.AdamW(model.parameters(), weight_decay=0.1)
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, learning_rate, total_steps=len(batches)
    )
    model.train()
    for batch in batches:
        token_ids, lengths, labels = collate([examples[i] for i in batch])
        logits = model(token_ids, lengths).flatten(0, -2)
        loss = F.cross_entropy(logits, labels.flatten(), ignore_index=IGNORED)
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        schedule.step()
    model.eval()


@torch.no_grad()
def predict(
    model: nn.Module, examples: Sequence[Example]
) -> tuple[Int[Tensor, " labels"], Int[Tensor, " labels"]]:
    """Return the labels that a model finds and the right ones, one by one."""
    token_ids, lengths, labels = collate(examples)
    found = model(token_ids, lengths).argmax(dim=-1).view(labels.shape)
    real = labels != IGNORED
    return found[real], labels[real]
