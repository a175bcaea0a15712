# Made from docs/source/adaptive-layers.md (8850dec261f7). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
import copy
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

import torch
from jaxtyping import Float
from torch import Tensor, nn

from attention_book._checks import check_layer_input
from attention_book.attention.caches import KeyValue, Position
from attention_book.attention.multi_head import MultiHeadAttention
from attention_book.attention.replacing import replace_attention
from attention_book.interpret.heads import find_heads


__all__ = ["PrunedAttention", "head_importance", "prune_heads"]


_Model = TypeVar("_Model", bound=nn.Module)


class _MaskedHeads(MultiHeadAttention):
    """Multi-head attention whose heads are multiplied by a mask of ones."""

    head_mask: Tensor

    def attend(
        self, query: Tensor, kv: KeyValue, mask: Tensor | None, is_causal: bool
    ) -> Tensor:
        heads = super().attend(query, kv, mask, is_causal)
        return heads * self.head_mask[:, None, None]


def head_importance(
    model: nn.Module, losses: Callable[[nn.Module], Iterable[Tensor]]
) -> dict[str, Float[Tensor, " heads"]]:
    """Return how much the loss would change with each head, on average.

    That is the mean of |∂L/∂ξ|, where ξ = 1 is multiplied with the head.

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
    masked = replace_attention(model, _MaskedHeads)
    masks: dict[str, Tensor] = {}
    for name, heads in find_heads(masked).items():
        layer: Any = masked.get_submodule(name)
        ones = torch.ones(len(heads)).to(layer.q_proj.weight)
        layer.head_mask = ones.requires_grad_()
        masks[name] = layer.head_mask
    totals = {name: torch.zeros_like(mask) for name, mask in masks.items()}
    n = 0
    for loss in losses(masked):
        gradients = torch.autograd.grad(loss, list(masks.values()))
        for name, gradient in zip(masks, gradients, strict=True):
            totals[name] += gradient.abs()
        n += 1
    if not n:
        raise ValueError("losses must yield one for each example, got none")
    return {name: total / n for name, total in totals.items()}


def prune_heads(model: _Model, heads: Mapping[str, Sequence[int]]) -> _Model:
    """Return a copy without these heads, whose projections are smaller.

    Arguments and outputs are those of without_heads.

    Raises:
        ValueError: There is no such head, or a layer is not plain
            MultiHeadAttention or has heads that share keys.
    """
    there = find_heads(model)
    memo: dict[int, Any] = {}
    for name, lost in heads.items():
        if not {*lost} <= {*there.get(name, ())}:
            raise ValueError(
                f"heads must be of the model, as find_heads lists them, got "
                f"{list(lost)} of {name!r}"
            )
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
        kept = [h for h in there[name] if h not in lost]
        memo[id(layer)] = PrunedAttention(layer, kept)
    return copy.deepcopy(model, memo)


class PrunedAttention(MultiHeadAttention):
    """What is left of a layer when it keeps some heads only, or none.

    Args:
        layer: Is left as it is.
        heads: Those that stay. Without any the layer adds nothing.
    """

    def __init__(self, layer: MultiHeadAttention, heads: list[int]) -> None:
        bias = layer.q_proj.bias is not None
        super().__init__(
            layer.d_model, layer.n_heads, bias=bias, dropout=layer.dropout
        )
        self.n_heads = self.n_kv_heads = len(heads)
        rows = torch.arange(layer.d_model, device=layer.q_proj.weight.device)
        indices = rows.view(layer.n_heads, -1)[heads].flatten()
        both = torch.cat([indices, layer.d_model + indices])
        self.q_proj = _take_outputs(layer.q_proj, indices)
        self.kv_proj = _take_outputs(layer.kv_proj, both)
        self.out_proj = copy.deepcopy(layer.out_proj)
        weight = layer.out_proj.weight.detach()[:, indices]
        self.out_proj.weight = nn.Parameter(weight)
        self.out_proj.in_features = len(indices)
        if bias and not heads:
            nn.init.zeros_(self.out_proj.bias)
        self.train(layer.training)

    def _split(self, x: Tensor) -> Tensor:
        """As split_heads, for any number of heads."""
        x = x.view(*x.shape[:-1], self.n_heads, self.d_k)
        return x.transpose(-3, -2)

    def queries(self, x: Tensor, offset: Position = 0) -> Tensor:
        """Queries of the heads that are left."""
        check_layer_input("x", x, self.q_proj.weight)
        return self._split(self.q_proj(x))

    def keys_and_values(
        self, memory: Tensor, offset: Position = 0
    ) -> KeyValue:
        """Keys and values of the heads that are left."""
        check_layer_input("memory", memory, self.kv_proj.weight)
        key, value = self.kv_proj(memory).chunk(2, dim=-1)
        return KeyValue(self._split(key), self._split(value))


def _take_outputs(linear: nn.Linear, indices: Tensor) -> nn.Linear:
    """Return a layer with some of the outputs."""
    taken = copy.deepcopy(linear)
    taken.weight = nn.Parameter(linear.weight.detach()[indices])
    if linear.bias is not None:
        taken.bias = nn.Parameter(linear.bias.detach()[indices])
    taken.out_features = len(indices)
    return taken
