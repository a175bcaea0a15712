# Made from docs/source/pretrained-files.md (4f4317f2eef9). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""The parts of a layer, and the names that a file has for them.

Explained on the page "Folders of pretrained models".
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from attention_book.attention.multi_head import MultiHeadAttention
from attention_book.io.pretrained.layout import Layout, WeightSlot
from attention_book.models.decoder import DecoderLayer
from attention_book.models.encoder import EncoderLayer


__all__ = ["map_layer", "map_weights"]


class _Part(NamedTuple):
    """The weight and the bias of a layer, or views of some of their rows."""

    weight: Tensor
    bias: Tensor


def _attention_parts(attention: MultiHeadAttention) -> dict[str, Any]:
    """Return the four projections, of which kv_proj holds two."""
    keys, values = attention.kv_proj.weight.chunk(2)
    key_bias, value_bias = attention.kv_proj.bias.chunk(2)
    return {
        "query": attention.q_proj,
        "key": _Part(keys, key_bias),
        "value": _Part(values, value_bias),
        "out": attention.out_proj,
    }


def _layer_parts(layer: EncoderLayer | DecoderLayer) -> dict[str, Any]:
    """Return whatever has weight and bias in a layer, by short names."""
    parts = _attention_parts(layer.self_attention)
    if isinstance(layer, DecoderLayer):
        cross = _attention_parts(layer.cross_attention)
        parts |= {f"cross {name}": part for name, part in cross.items()}
    for number, residual in enumerate(layer.residuals, start=1):
        parts[f"norm {number}"] = residual.norm
    parts["up"] = layer.feed_forward.up_proj
    parts["down"] = layer.feed_forward.down_proj
    return parts


@torch.no_grad()
def map_weights(name: str, *parts: Any, is_transposed: bool = False) -> Layout:
    """Return where name.weight and name.bias of a file stand.

    Args:
        name: In the file.
        parts: Whose weights the file joins under this name.
        is_transposed: Whether its matrices are (in, out), not (out, in).
    """
    weights = tuple(part.weight for part in parts)
    biases = tuple(part.bias for part in parts)
    if is_transposed and weights[0].ndim == 2:
        weight = WeightSlot(tuple(x.T for x in weights), dim=1)
    else:
        weight = WeightSlot(weights)
    return {f"{name}.weight": weight, f"{name}.bias": WeightSlot(biases)}


@torch.no_grad()
def map_layer(
    stem: str,
    layer: Any,
    names: Mapping[str, Sequence[str]],
    *,
    is_transposed: bool = False,
) -> Layout:
    """Return where the tensors of one layer of a file stand.

    Args:
        stem: What their names begin with.
        layer: Of the model: an EncoderLayer or a DecoderLayer.
        names: For each name in the file, the parts that it joins.
        is_transposed: As in map_weights.
    """
    parts = _layer_parts(layer)
    layout: Layout = {}
    for name, joined in names.items():
        layout |= map_weights(
            f"{stem}.{name}",
            *(parts[part] for part in joined),
            is_transposed=is_transposed,
        )
    return layout
