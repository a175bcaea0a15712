"""Train on batches that are drawn at random, each by a number and a seed."""

import random
from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor, nn

from attention_book._checks import check_size
from attention_book.training.config import TrainingConfig
from attention_book.training.loop import Trainer


__all__ = ["minimize"]


class _Draws:
    """Random generators by number, from each of which a batch is drawn."""

    def __init__(self, seed: int) -> None:
        self.seed = seed

    def __len__(self) -> int:
        return 1

    def __getitem__(self, number: int) -> torch.Generator:
        rng = random.Random(f"{self.seed} {number}")
        return torch.Generator().manual_seed(rng.getrandbits(63))

    def fingerprint(self) -> str:
        return f"drawn from seed {self.seed}"


def minimize(
    model: nn.Module,
    loss_of: Callable[[torch.Generator], Float[Tensor, ""]],
    *,
    max_steps: int,
    learning_rate: float,
    seed: int,
) -> list[float]:
    """Train a model in place, leave it in eval mode, return the losses.

    Args:
        model: What is trained.
        loss_of: Draws a batch from the generator and returns its loss.
        max_steps: Number of batches.
        learning_rate: Where the cosine begins, after a tenth of the steps.
        seed: Decides batches and dropout.

    Raises:
        ValueError: A number is out of range.
    """
    check_size("max_steps", max_steps)
    config = TrainingConfig(
        max_steps=max_steps,
        learning_rate=learning_rate,
        warmup_steps=max(1, max_steps // 10),
        seed=seed,
    )
    trainer = Trainer(
        model,
        _Draws(seed),
        config,
        lambda _, generator, __: loss_of(generator),
    )
    for _ in range(max_steps):
        trainer.step()
    model.eval()
    return trainer.losses
