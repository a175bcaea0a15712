# Made from docs/source/pretrained-files.md (0c846e4f58d4). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from attention_book.attention.multi_head import MultiHeadAttention
from attention_book.io.pretrained.layout import JoinedViews, Layout
from attention_book.models.decoder import DecoderLayer
from attention_book.models.encoder import EncoderLayer


__all__ = ["Layer", "layer_parts", "map_layer", "map_weights"]


class Layer(NamedTuple):
    """The weight and the bias of a layer, or views of some of their rows."""

    weight: Tensor
    bias: Tensor


def _attention_parts(attention: MultiHeadAttention) -> dict[str, Layer]:
    """Return the four projections, of which kv_proj holds two."""
    keys, values = attention.kv_proj.weight.chunk(2)
    key_bias, value_bias = attention.kv_proj.bias.chunk(2)
    query, out = attention.q_proj, attention.out_proj
    return {
        "query": Layer(query.weight, query.bias),
        "key": Layer(keys, key_bias),
        "value": Layer(values, value_bias),
        "out": Layer(out.weight, out.bias),
    }


@torch.no_grad()
def layer_parts(
    layer: EncoderLayer | DecoderLayer,
) -> dict[str, Any]:
    """Return whatever has weight and bias in a layer, by short names."""
    parts: dict[str, Any] = {}
    parts |= _attention_parts(layer.self_attention)
    if isinstance(layer, DecoderLayer):
        cross = _attention_parts(layer.cross_attention)
        parts |= {f"cross {name}": part for name, part in cross.items()}
    for number, residual in enumerate(layer.residuals, start=1):
        parts[f"norm {number}"] = residual.norm
    parts["up"] = layer.feed_forward.up_proj
    parts["down"] = layer.feed_forward.down_proj
    return parts


@torch.no_grad()
def map_weights(
    name: str, *layers: Any, is_transposed: bool = False
) -> Layout:
    """Return where name.weight and name.bias of a file stand here.

    Args:
        name: In the file.
        layers: Whose weights the file joins under this name.
        is_transposed: Whether its matrices are (in, out), not (out, in).
    """
    weights = tuple(layer.weight for layer in layers)
    biases = tuple(layer.bias for layer in layers)
    if is_transposed and weights[0].ndim == 2:
        weight = JoinedViews(tuple(x.T for x in weights), dim=1)
    else:
        weight = JoinedViews(weights)
    return {f"{name}.weight": weight, f"{name}.bias": JoinedViews(biases)}


def map_layer(
    stem: str,
    layer: Any,
    names: Mapping[str, Sequence[str]],
    *,
    is_transposed: bool = False,
) -> Layout:
    """Return where the tensors of one layer of a file stand here.

    Args:
        stem: What their names begin with.
        layer: Of the model: an EncoderLayer or a DecoderLayer.
        names: For each name in the file, the parts that it joins.
        is_transposed: As in map_weights.
    """
    parts = layer_parts(layer)
    layout: Layout = {}
    for name, joined in names.items():
        layers = [parts[part] for part in joined]
        layout |= map_weights(
            f"{stem}.{name}", *layers, is_transposed=is_transposed
        )
    return layout
