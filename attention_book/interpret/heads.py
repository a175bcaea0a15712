# Made from docs/source/adaptive-layers.md (ca46dd9f4fcc). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""The heads of a model: how much each matters, and the model without some.

Explained in the chapters "Reading attention" and "Adaptive attention".
"""

import copy
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

import torch
from jaxtyping import Float
from torch import Tensor, nn

from attention_book.attention.multi_head import MultiHeadAttention


__all__ = [
    "PrunedAttention",
    "head_importance",
    "list_heads",
    "prune_heads",
    "without_heads",
]


_Model = TypeVar("_Model", bound=nn.Module)


def list_heads(model: nn.Module) -> dict[str, list[int]]:
    """Return the heads of each multi-head attention, under its name."""
    return {
        name: list(range(module.n_heads))
        for name, module in model.named_modules()
        if isinstance(module, MultiHeadAttention)
    }


def _check_heads(model: nn.Module, heads: Mapping[str, Sequence[int]]) -> None:
    """Raise ValueError unless the model has these heads."""
    there = list_heads(model)
    for name, numbers in heads.items():
        if not {*numbers} <= {*there.get(name, ())}:
            raise ValueError(
                f"heads must be of the model, as list_heads lists them, got "
                f"{list(numbers)} of {name!r}"
            )


@torch.no_grad()
def without_heads(model: _Model, heads: Mapping[str, Sequence[int]]) -> _Model:
    """Return a copy of a model in which these heads add nothing.

    Their rows of W^O, columns of out_proj.weight, are 0. Where all heads of
    a layer are silent its bias is 0 too, so that the layer adds nothing.

    Args:
        model: The model, which stays as it is.
        heads: For the name of a layer the numbers of heads, as list_heads
            returns them.

    Raises:
        ValueError: There is no such layer or head.

    Source: Michel et al. (2019), §2.3.
    """
    _check_heads(model, heads)
    changed = copy.deepcopy(model)
    for name, numbers in heads.items():
        layer: Any = changed.get_submodule(name)
        columns = layer.out_proj.weight.unflatten(1, (layer.n_heads, -1))
        columns[:, list(numbers)] = 0
        bias = layer.out_proj.bias
        if bias is not None and len({*numbers}) == layer.n_heads:
            bias.zero_()
    return changed


def prune_heads(model: _Model, heads: Mapping[str, Sequence[int]]) -> _Model:
    """Return a copy without these heads, whose projections are smaller.

    Arguments and outputs are those of without_heads.

    Raises:
        ValueError: There is no such head, or a layer is not plain
            MultiHeadAttention or has heads that share keys.
    """
    _check_heads(model, heads)
    memo: dict[int, Any] = {}
    for name, lost in heads.items():
        layer: Any = model.get_submodule(name)
        if type(layer) is not MultiHeadAttention:
            raise ValueError(
                f"{name} must be MultiHeadAttention, "
                f"got {type(layer).__name__}"
            )
        if layer.n_heads != layer.n_kv_heads:
            raise ValueError(
                f"heads of {name} must have keys of their own, got "
                f"{layer.n_kv_heads} heads of keys for {layer.n_heads}"
            )
        kept = [h for h in range(layer.n_heads) if h not in lost]
        memo[id(layer)] = PrunedAttention(layer, kept)
    return copy.deepcopy(model, memo)


class PrunedAttention(MultiHeadAttention):
    """What is left of a layer when it keeps some heads only.

    Args:
        layer: Is left as it is.
        heads: Those that stay. Without any, one stays that adds nothing, and
            nor does the bias.
    """

    def __init__(self, layer: MultiHeadAttention, heads: list[int]) -> None:
        bias = layer.q_proj.bias is not None
        super().__init__(
            layer.d_model, layer.n_heads, bias=bias, dropout=layer.dropout
        )
        kept = heads or [0]
        self.n_heads = self.n_kv_heads = len(kept)
        rows = torch.arange(layer.d_model, device=layer.q_proj.weight.device)
        rows = rows.view(layer.n_heads, -1)[kept].flatten()
        both = torch.cat([rows, layer.d_model + rows])
        self.q_proj = _take(layer.q_proj, rows)
        self.kv_proj = _take(layer.kv_proj, both)
        self.out_proj = _take(layer.out_proj, rows, dim=1)
        if not heads:
            for parameter in self.out_proj.parameters():
                nn.init.zeros_(parameter)
        self.train(layer.training)


def _take(linear: nn.Linear, indices: Tensor, dim: int = 0) -> nn.Linear:
    """Return a layer with some of the outputs, or of the inputs (dim 1)."""
    taken = copy.deepcopy(linear)
    weight = linear.weight.detach().index_select(dim, indices)
    taken.weight = nn.Parameter(weight)
    taken.out_features, taken.in_features = weight.shape
    if linear.bias is not None and dim == 0:
        taken.bias = nn.Parameter(linear.bias.detach()[indices])
    return taken


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
    scores: dict[str, list[Tensor]] = {name: [] for name in list_heads(model)}
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
