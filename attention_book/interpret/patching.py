# Made from docs/trust/interpret.md (d1d990296296). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""One unit of an activation changed after another.

Explained in the chapter "Reading attention".
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from attention_book.interpret.probe import trace


__all__ = ["activation_patching", "occlusion"]


def _patched(
    model: nn.Module, inputs: Sequence[Any], site: str, new: Tensor, dim: int
) -> Iterator[Any]:
    """Yield the outputs with each unit along dim in turn taken from new."""
    old = trace(model, inputs, [site]).activations[site]
    for unit in range(old.shape[dim]):
        patched = old.clone()
        patched.select(dim, unit).copy_(new.select(dim, unit))
        edits = {site: lambda _, patched=patched: patched}
        yield trace(model, inputs, edits=edits).output


@torch.no_grad()
def occlusion(
    model: nn.Module,
    inputs: Sequence[Any],
    site: str,
    score: Callable[[Any], Float[Tensor, " outputs"]],
) -> Float[Tensor, "outputs tokens"]:
    """By how much each score falls when one token's vector becomes 0.

    Args:
        model: The model.
        inputs: What its forward takes, a batch of one.
        site: Where the vectors are (1, tokens, d_model), such as
            "source_embedding.tokens".
        score: From the model's output to the numbers to be explained.
    """
    output, activations = trace(model, inputs, [site])
    zeros = torch.zeros_like(activations[site])
    changed = _patched(model, inputs, site, zeros, dim=1)
    return torch.stack([score(output) - score(x) for x in changed], dim=-1)


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

    Source: Vig et al. (2020); Zhang and Nanda (2024), §2.1.
    """
    right = trace(model, clean, [site]).activations[site]
    output = trace(model, corrupted).output
    changed = _patched(model, corrupted, site, right, dim)
    return torch.stack([score(x) - score(output) for x in changed])
