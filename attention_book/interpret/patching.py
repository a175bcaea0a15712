# Made from docs/trust/interpret.md (d37e3c63dbbd). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""Patching: activations of one run put into another.

Explained in the chapter "Reading attention".
"""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from attention_book.interpret.probe import trace


__all__ = ["activation_patching", "attribution_patching"]


@torch.no_grad()
def activation_patching(
    model: nn.Module,
    clean: Sequence[Any],
    corrupted: Sequence[Any],
    site: str,
    score: Callable[[Any], Float[Tensor, ""]],
    dim: int = -2,
) -> Float[Tensor, " units"]:
    """By how much the score rises when one unit is as in the clean run.

    Args:
        model: The model.
        clean: Inputs of a batch of one, with a high score.
        corrupted: Inputs of the same shapes, with a low one.
        site: Where the activation is patched.
        score: From the model's output to one number.
        dim: The axis of the units: -2 for tokens, 1 for the heads at a site
            NAME.heads.

    Source: Zhang and Nanda (2024), §2.1.
    """
    right = trace(model, clean, [site]).activations[site]
    output, activations = trace(model, corrupted, [site])
    rises = []
    for unit in range(right.shape[dim]):
        patched = activations[site].clone()
        patched.select(dim, unit).copy_(right.select(dim, unit))
        edits = {site: lambda _, patched=patched: patched}
        changed = trace(model, corrupted, edits=edits).output
        rises.append(score(changed) - score(output))
    return torch.stack(rises)


def attribution_patching(
    model: nn.Module,
    clean: Sequence[Any],
    corrupted: Sequence[Any],
    site: str,
    score: Callable[[Any], Float[Tensor, ""]],
    dim: int = -2,
) -> Float[Tensor, " units"]:
    """Activation patching of all units at once, to first order.

    The change of the activation times the gradient of the score, summed over
    each unit. The arguments are those of activation_patching.

    Source: Nanda (2023).
    """
    with torch.no_grad():
        right = trace(model, clean, [site]).activations[site]
        wrong = trace(model, corrupted, [site]).activations[site]
    x = wrong.clone().requires_grad_()
    output = trace(model, corrupted, edits={site: lambda _: x}).output
    (gradient,) = torch.autograd.grad(score(output), x)
    change = (right - wrong) * gradient
    return change.movedim(dim, 0).flatten(1).sum(dim=-1)
