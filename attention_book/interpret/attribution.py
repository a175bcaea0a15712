# Made from docs/trust/interpret.md (42c0deaa3f21). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""How much of an answer each token of the input accounts for.

Explained in the chapter "Reading attention".
"""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from attention_book._checks import check_size
from attention_book.interpret.probe import trace


__all__ = [
    "Score",
    "gradient_x_input",
    "input_x_gradient",
    "integrated_gradients",
    "leave_one_out",
    "occlusion",
]


Score = Callable[[Any], Float[Tensor, " outputs"]]


@torch.no_grad()
def occlusion(
    model: nn.Module, inputs: Sequence[Any], site: str, score: Score
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
    vectors = activations[site]
    falls = []
    for i in range(vectors.shape[1]):
        without = vectors.clone()
        without[:, i] = 0
        edits = {site: lambda _, without=without: without}
        changed = trace(model, inputs, edits=edits).output
        falls.append(score(output) - score(changed))
    return torch.stack(falls, dim=-1)


leave_one_out = occlusion  # as it is called, too


def _gradients(
    model: nn.Module, inputs: Sequence[Any], site: str, x: Tensor, score: Score
) -> Float[Tensor, "outputs tokens d_model"]:
    """The gradient of each score, at vectors x that are put in at the site."""
    x = x.detach().requires_grad_()
    output = trace(model, inputs, edits={site: lambda _: x}).output
    gradients = [
        torch.autograd.grad(one, x, retain_graph=True)[0]
        for one in score(output)
    ]
    return torch.cat(gradients)


def input_x_gradient(
    model: nn.Module, inputs: Sequence[Any], site: str, score: Score
) -> Float[Tensor, "outputs tokens"]:
    """Input × gradient; the arguments are those of occlusion.

    Source: Shrikumar et al. (2017), §2.2.2.
    """
    x = trace(model, inputs, [site]).activations[site].detach()
    return (_gradients(model, inputs, site, x, score) * x).sum(dim=-1)


gradient_x_input = input_x_gradient  # as it is called, too


def integrated_gradients(
    model: nn.Module,
    inputs: Sequence[Any],
    site: str,
    score: Score,
    n_points: int = 32,
) -> Float[Tensor, "outputs tokens"]:
    """The mean gradient on the way from 0 to the input, times the input.

    Over all tokens they add up, but for the error of n_points midpoints, to
    score(input) - score(0). Other arguments are those of occlusion.

    Source: Sundararajan et al. (2017), §3, eq. 1; §5, eq. 3, with midpoints.
    """
    check_size("n_points", n_points)
    x = trace(model, inputs, [site]).activations[site].detach()
    gradients = [
        _gradients(model, inputs, site, x * (i + 0.5) / n_points, score)
        for i in range(n_points)
    ]
    return (torch.stack(gradients).mean(dim=0) * x).sum(dim=-1)
