# Made from docs/source/explain.md (d6f638658a25). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""What a change would do, estimated by gradients.

Explained on the page "Tools for explanations".
"""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from attention_book._checks import check_size
from attention_book.interpret.probe import trace


__all__ = ["input_x_gradient", "integrated_gradients"]


_Score = Callable[[Any], Float[Tensor, " outputs"]]


@torch.no_grad()
def _activation(model: nn.Module, inputs: Sequence[Any], site: str) -> Tensor:
    return trace(model, inputs, [site]).activations[site]


def _gradients(
    model: nn.Module,
    inputs: Sequence[Any],
    site: str,
    x: Tensor,
    score: _Score,
) -> Float[Tensor, "outputs ..."]:
    """The gradient of each score, at the activation x put in at the site."""
    x = x.clone().requires_grad_()
    output = trace(model, inputs, edits={site: lambda _: x}).output
    gradients = [
        torch.autograd.grad(one, x, retain_graph=True)[0]
        for one in score(output)
    ]
    return torch.cat(gradients)


def input_x_gradient(
    model: nn.Module, inputs: Sequence[Any], site: str, score: _Score
) -> Float[Tensor, "outputs tokens"]:
    """Input × gradient; the arguments are those of occlusion.

    Source: Shrikumar et al. (2017), §2.2.2.
    """
    x = _activation(model, inputs, site)
    return (_gradients(model, inputs, site, x, score) * x).sum(dim=-1)


def integrated_gradients(
    model: nn.Module,
    inputs: Sequence[Any],
    site: str,
    score: _Score,
    n_points: int = 32,
) -> Float[Tensor, "outputs tokens"]:
    """The mean gradient on the way from 0 to the input, times the input.

    Over all tokens they add up, but for the error of n_points midpoints, to
    score(input) - score(0). Other arguments are those of occlusion.

    Source: Sundararajan et al. (2017), §3, eq. 1; §5, eq. 3, with midpoints.
    """
    check_size("n_points", n_points)
    x = _activation(model, inputs, site)
    gradients = [
        _gradients(model, inputs, site, x * (i + 0.5) / n_points, score)
        for i in range(n_points)
    ]
    return (torch.stack(gradients).mean(dim=0) * x).sum(dim=-1)
