# Made from docs/source/adaptive-layers.md (3b8b3232bf10). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""Putting another kind of attention into a model.

Explained in the chapter "Adaptive attention".
"""

import copy
from typing import Any, TypeVar

from torch import nn

from attention_book.attention.multi_head import MultiHeadAttention
from attention_book.interpret.heads import list_heads


__all__ = ["replace_attention"]


_Model = TypeVar("_Model", bound=nn.Module)


def replace_attention(
    model: _Model,
    kind: type[MultiHeadAttention],
    *,
    ending: str = "",
    **options: Any,
) -> _Model:
    """Return a copy of a model with attention layers of another kind.

    Args:
        model: Is left as it is.
        kind: Makes the new layers, which get the projections of the old.
        ending: Replace only layers whose names end so, such as
            self_attention or decoder.layers.0.cross_attention.
        options: Given to each new layer.

    Raises:
        ValueError: There is nothing to replace, or a layer has positions,
            such as RotaryAttention, that would be lost, or has lost heads.
    """
    names = [name for name in list_heads(model) if name.endswith(ending)]
    if not names:
        raise ValueError(
            f"model must have attention layers named …{ending}, got "
            f"{list(list_heads(model))}"
        )
    memo: dict[int, Any] = {}
    for name in names:
        old = model.get_submodule(name)
        memo[id(old)] = _remake(old, kind, options)
    return copy.deepcopy(model, memo)


def _remake(
    old: Any, kind: type[MultiHeadAttention], options: dict[str, Any]
) -> MultiHeadAttention:
    """Return a layer of that kind with the old one's parameters."""
    if hasattr(old, "rotary") or hasattr(old, "slopes"):
        raise ValueError(
            "layers to replace must be without positions of their own, got "
            f"{type(old).__name__}"
        )
    if old.n_heads * old.d_k != old.d_model:
        raise ValueError(
            "layers to replace must have all of their heads, got "
            f"{type(old).__name__} with {old.n_heads}"
        )
    new = kind(
        old.d_model,
        old.n_heads,
        n_kv_heads=old.n_kv_heads,
        bias=old.q_proj.bias is not None,
        dropout=old.dropout,
        **options,
    )
    new.load_state_dict(old.state_dict(), strict=False)
    return new.to(old.q_proj.weight).train(old.training)
