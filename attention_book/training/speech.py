# Made from docs/source/sound-and-graphs.md (f191f80d89ac). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor, nn

from attention_book._checks import check_positive, check_size


__all__ = ["minimize"]


def minimize(
    model: nn.Module,
    loss_of: Callable[[torch.Generator], Float[Tensor, ""]],
    *,
    max_steps: int,
    learning_rate: float,
    seed: int,
) -> None:
    """Train a model in place, and leave it in eval mode.

    AdamW; the rate rises for a tenth of the steps and falls along a cosine;
    gradients have a norm of 1 at most.

    Args:
        model: What is trained.
        loss_of: Draws a batch from the generator and returns its loss.
        max_steps: Number of batches.
        learning_rate: Its peak.
        seed: Decides the batches.

    Raises:
        ValueError: A number is out of range.
    """
    check_size("max_steps", max_steps)
    check_positive("learning_rate", learning_rate)
    generator = torch.Generator().manual_seed(seed)
    optimizer = torch.optim.AdamW(model.parameters(), lr=learning_rate)
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, learning_rate, total_steps=max_steps + 1, pct_start=0.1
    )
    model.train()
    for _ in range(max_steps):
        loss = loss_of(generator)
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
    model.eval()
