# Made from docs/chapters/61-adaptive-layers.md (7737086a5d6e). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
import copy
from typing import Any, TypeVar

from torch import nn

from attention_book.multi_head import MultiHeadAttention


__all__ = ["attention_layers", "replace_attention"]


_Model = TypeVar("_Model", bound=nn.Module)


def attention_layers(model: nn.Module) -> dict[str, MultiHeadAttention]:
    """Return the attention layers of a model, by name."""
    if not isinstance(model, nn.Module):
        raise ValueError(f"model must be a module, got {type(model).__name__}")
    return {
        name: layer
        for name, layer in model.named_modules()
        if isinstance(layer, MultiHeadAttention)
    }


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
            such as RotaryAttention, that would be lost.
    """
    layers = {
        name: layer
        for name, layer in attention_layers(model).items()
        if name.endswith(ending)
    }
    if not layers:
        raise ValueError(
            f"model must have attention layers named …{ending}, got "
            f"{list(attention_layers(model))}"
        )
    memo = {id(old): _remake(old, kind, options) for old in layers.values()}
    return copy.deepcopy(model, memo)


def _remake(
    old: MultiHeadAttention,
    kind: type[MultiHeadAttention],
    options: dict[str, Any],
) -> MultiHeadAttention:
    """Return a layer of that kind with the old one's parameters."""
    if hasattr(old, "rotary") or hasattr(old, "alibi"):
        raise ValueError(
            "layers to replace must be without positions of their own, got "
            f"{type(old).__name__}"
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
