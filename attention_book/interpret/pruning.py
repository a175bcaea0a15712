# Made from docs/source/adaptive-layers.md (e759db0006b0). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""Layers that have lost heads.

Explained in the chapter "Adaptive attention".
"""

import copy
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import torch
from torch import Tensor, nn

from attention_book.attention.multi_head import MultiHeadAttention
from attention_book.interpret.heads import check_heads_of


__all__ = ["PrunedAttention", "prune_heads"]


_Model = TypeVar("_Model", bound=nn.Module)


def prune_heads(model: _Model, heads: Mapping[str, Sequence[int]]) -> _Model:
    """Return a copy without these heads, whose projections are smaller.

    Arguments and outputs are those of without_heads.

    Raises:
        ValueError: There is no such head, or a layer is not plain
            MultiHeadAttention or has heads that share keys.
    """
    check_heads_of(model, heads)
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
