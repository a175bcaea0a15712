# Made from docs/language/tasks.md (92280f135366). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""Training a classifier of texts. Explained in "Three shapes of task"."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence

from attention_book._checks import check_size
from attention_book.data.batches import pad
from attention_book.training.config import TrainingConfig
from attention_book.training.loading import TranslationBatches
from attention_book.training.loop import Trainer


__all__ = ["IGNORED", "Example", "collate", "predict", "train_classifier"]


IGNORED = -100  # the label that cross_entropy leaves out
Example = tuple[list[int], list[int]]  # token ids, and labels


class _TextBatch(NamedTuple):
    """Examples that are trained on together."""

    token_ids: Int[Tensor, "batch length"]
    lengths: Int[Tensor, " batch"]
    labels: Int[Tensor, "batch labels"]

    @property
    def n_targets(self) -> int:
        """How many labels are real."""
        return int((self.labels != IGNORED).sum())


def collate(examples: Sequence[Example]) -> _TextBatch:
    """Pad examples; return token ids, lengths and labels.

    Raises:
        ValueError: There are no examples.
    """
    if not examples:
        raise ValueError("examples must not be empty, got none")
    token_ids, lengths = pad([tokens for tokens, _ in examples])
    labels = [torch.tensor(label) for _, label in examples]
    return _TextBatch(token_ids, lengths, pad_sequence(labels, True, IGNORED))


class _TextBatches(TranslationBatches):
    """Batches of texts and their labels, as numbered as those of pairs."""

    def collate(self, rows: Sequence[Example]) -> _TextBatch:
        return _TextBatch(*(x.to(self.device) for x in collate(rows)))


def _text_loss(
    model: nn.Module, batch: _TextBatch, label_smoothing: float = 0.0
) -> Float[Tensor, ""]:
    """Mean cross-entropy of the labels under the model's logits."""
    logits = model(batch.token_ids, batch.lengths).flatten(0, -2)
    return F.cross_entropy(
        logits.float(),
        batch.labels.flatten(),
        ignore_index=IGNORED,
        label_smoothing=label_smoothing,
    )


def train_classifier(
    model: nn.Module,
    examples: Sequence[Example],
    *,
    n_epochs: int,
    learning_rate: float,
    batch_tokens: int = 600,
    seed: int = 0,
) -> list[float]:
    """Train a classifier of tokens or of sequences; return its losses.

    Args:
        model: Returns the logits of token ids and lengths.
        examples: As many labels as tokens each, or one.
        n_epochs: How often each example is seen.
        learning_rate: Where the cosine begins, after a tenth of the steps.
        batch_tokens: Largest size of a batch, padding included.
        seed: Decides dropout and the order of the batches.

    Raises:
        ValueError: A number is out of range, or there are no examples.
    """
    check_size("n_epochs", n_epochs)
    config = TrainingConfig(
        batch_tokens=batch_tokens,
        learning_rate=learning_rate,
        betas=(0.9, 0.999),
        weight_decay=0.1,
        max_grad_norm=math.inf,
        seed=seed,
    )
    device = next(model.parameters()).device
    batches = _TextBatches(examples, config, device)
    steps = n_epochs * len(batches)
    warmup_steps = max(1, steps // 10)
    config = replace(config, max_steps=steps, warmup_steps=warmup_steps)
    trainer = Trainer(model, batches, config, _text_loss)
    for _ in range(steps):
        trainer.step()
    model.eval()
    return trainer.losses


@torch.no_grad()
def predict(
    model: nn.Module, examples: Sequence[Example]
) -> tuple[Int[Tensor, " labels"], Int[Tensor, " labels"]]:
    """Return the labels that a model finds and the right ones, one by one."""
    token_ids, lengths, labels = collate(examples)
    found = model(token_ids, lengths).argmax(dim=-1).view(labels.shape)
    real = labels != IGNORED
    return found[real], labels[real]
