# Made from docs/trust/adaptive.md (f971f2062521). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""How much each head matters to the loss.

Explained in the chapter "Adaptive attention".
"""

import copy
from collections.abc import Callable, Iterable
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from attention_book.interpret.heads import find_heads


__all__ = ["head_importance"]


def head_importance(
    model: nn.Module, losses: Callable[[nn.Module], Iterable[Tensor]]
) -> dict[str, Float[Tensor, " heads"]]:
    """Return how much the loss would change with each head, on average.

    That is the mean of |∂L/∂ξ|, where ξ = 1 is multiplied with the head, or
    with its columns of W^O, which comes to the same.

    Args:
        model: Is left as it is.
        losses: Given a model like it, yields the loss of each example.

    Returns:
        For each attention layer, by its name, a score of each head.

    Raises:
        ValueError: There are no losses.

    Source: Michel et al. (2019), §4.1, eq. 2, there also divided by the norm
        of the scores of a layer.
    """
    model = copy.deepcopy(model).requires_grad_()
    scores: dict[str, list[Tensor]] = {name: [] for name in find_heads(model)}
    layers: list[Any] = [model.get_submodule(name) for name in scores]
    weights = [layer.out_proj.weight for layer in layers]
    for loss in losses(model):
        gradients = torch.autograd.grad(loss, weights)
        for name, layer, gradient in zip(
            scores, layers, gradients, strict=True
        ):
            by_weight = layer.out_proj.weight.detach() * gradient
            by_head = by_weight.unflatten(1, (layer.n_heads, -1)).sum((0, 2))
            scores[name].append(by_head.abs())
    if not all(scores.values()):
        raise ValueError("losses must yield one for each example, got none")
    return {name: torch.stack(s).mean(dim=0) for name, s in scores.items()}
