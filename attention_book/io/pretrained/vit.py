# Made from docs/source/pretrained-files.md (c9edcf70db48). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""Vision Transformers, as transformers and timm save them.

Explained on the page "Folders of pretrained models".
"""

import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import nn

from attention_book.io.checkpoints import TENSORS_A_LAYER, on_meta
from attention_book.io.pretrained.family import (
    READABLE,
    Family,
    current_names,
    read_model,
)
from attention_book.io.pretrained.layers import map_layer, map_weights
from attention_book.io.pretrained.layout import Layout, WeightSlot
from attention_book.io.tensors import Tensors, open_tensors
from attention_book.models.config import ViTConfig
from attention_book.models.vit import ViT


__all__ = ["VIT", "load_vit"]


class _Names(NamedTuple):
    """What the parts of a ViT are called in a file."""

    patches: str
    cls: str
    positions: str
    layers: str
    norm: str
    head: str
    layer: Mapping[str, tuple[str, ...]]

    @property
    def up(self) -> str:
        """The first layer of a feed-forward network."""
        return next(x for x, parts in self.layer.items() if parts == ("up",))

    @torch.no_grad()
    def layout(self, model: ViT) -> Layout:
        """Return where the tensors of a file stand in a model.

        Patches are cut and projected by a convolution, whose features come
        as (channel, row, column), ours as (row, column, channel).
        """
        side = model.config.patch_size
        weight = model.embed.weight.view(
            -1, side, side, model.config.n_channels
        )
        layout = {
            f"{self.patches}.weight": WeightSlot(
                (weight.permute(0, 3, 1, 2),)
            ),
            f"{self.patches}.bias": WeightSlot((model.embed.bias,)),
            self.positions: WeightSlot((model.positions.table[None],)),
            **map_weights(self.norm, model.encoder.norm),
        }
        if model.class_token is not None:
            layout[self.cls] = WeightSlot((model.class_token[None, None],))
        for i, layer in enumerate(model.encoder.layers):
            layout |= map_layer(f"{self.layers}.{i}", layer, self.layer)
        if not isinstance(model.head, nn.Identity):
            layout |= map_weights(self.head, model.head)
        return layout


_HF = _Names(
    patches="vit.embeddings.patch_embeddings.projection",
    cls="vit.embeddings.cls_token",
    positions="vit.embeddings.position_embeddings",
    layers="vit.encoder.layer",
    norm="vit.layernorm",
    head="classifier",
    layer={
        "layernorm_before": ("norm 1",),
        "attention.attention.query": ("query",),
        "attention.attention.key": ("key",),
        "attention.attention.value": ("value",),
        "attention.output.dense": ("out",),
        "layernorm_after": ("norm 2",),
        "intermediate.dense": ("up",),
        "output.dense": ("down",),
    },
)
_TIMM = _Names(
    patches="patch_embed.proj",
    cls="cls_token",
    positions="pos_embed",
    layers="blocks",
    norm="norm",
    head="head",
    layer={
        "norm1": ("norm 1",),
        "attn.qkv": ("query", "key", "value"),
        "attn.proj": ("out",),
        "norm2": ("norm 2",),
        "mlp.fc1": ("up",),
        "mlp.fc2": ("down",),
    },
)


def _build(fields: dict[str, Any]) -> nn.Module:
    """Make the book's model."""
    n_classes = fields.pop("n_labels")
    return ViT(ViTConfig(n_classes=n_classes, **fields))


VIT = Family(
    architecture="ViTForImageClassification",
    model_type="vit",
    model_class=ViT,
    build=_build,
    entries={  # entry: our field, its default
        "image_size": ("image_size", 224),
        "patch_size": ("patch_size", 16),
        "num_channels": ("n_channels", 3),
        "hidden_size": ("d_model", 768),
        "num_attention_heads": ("n_heads", 12),
        "intermediate_size": ("d_ff", 3072),
        "num_hidden_layers": ("n_layers", 12),
        "hidden_dropout_prob": ("dropout", 0.0),
        "layer_norm_eps": ("epsilon", 1e-12),
    },
    fixed={"qkv_bias": True, "hidden_act": "gelu"},
    fields={"pooling": "class"},
    layout=_HF.layout,
    renamed={r"^(embeddings|encoder|layernorm|pooler)\.": r"vit.\1."},
    unused=r"vit\.pooler\..*",  # for the task of BERT
    written=lambda config: {"attention_probs_dropout_prob": 0.0},
    has_labels=True,
)
_TIMM_FAMILY = VIT._replace(layout=_TIMM.layout, renamed={})


def _shape(tensors: Tensors, name: str, n_axes: int) -> torch.Size:
    """Return a tensor's shape; ValueError unless it has n_axes."""
    shape = tensors[name].shape if name in tensors else None
    if shape is None or len(shape) != n_axes:
        got = "none" if shape is None else tuple(shape)
        raise ValueError(f"wanted {name} with {n_axes} axes, got {got}")
    return shape


def _config_of(
    tensors: Tensors, names: _Names, n_heads: int | None
) -> ViTConfig:
    """Return the configuration that the shapes of a file show."""
    patches = f"{names.patches}.weight"
    d_model, n_channels, patch_size, _ = _shape(tensors, patches, 4)
    _, n_positions, _ = _shape(tensors, names.positions, 3)
    has_class = names.cls in tensors
    head = f"{names.head}.weight"
    up = f"{names.layers}.0.{names.up}.weight"
    pattern = re.compile(rf"{re.escape(names.layers)}\.(\d+)\.")
    layers = {x[1] for x in map(pattern.match, tensors) if x}
    if (len(layers) - 1) * TENSORS_A_LAYER > len(tensors):
        raise ValueError(
            f"wanted {TENSORS_A_LAYER} tensors a layer, got "
            f"{len(tensors)} for {len(layers)} layers"
        )
    return ViTConfig(
        image_size=patch_size * math.isqrt(max(0, n_positions - has_class)),
        patch_size=patch_size,
        n_channels=n_channels,
        n_classes=_shape(tensors, head, 2)[0] if head in tensors else 0,
        d_model=d_model,
        n_heads=d_model // 64 if n_heads is None else n_heads,
        d_ff=_shape(tensors, up, 2)[0],
        n_layers=len(layers),
        pooling="class" if has_class else "mean",
        epsilon=1e-6 if names is _TIMM else 1e-12,
    )


def load_vit(path: str | Path, *, n_heads: int | None = None) -> ViT:
    """Read a ViT that timm or transformers has written, as safetensors.

    Its configuration is what the shapes show. Names and shapes are compared
    before any number is read.

    Args:
        path: The file.
        n_heads: The shapes do not tell it; by default d_model / 64.

    Raises:
        OSError: There is no such file, or it can't be read.
        ValueError: The first name that is missing, does not fit, or belongs
            to something that this ViT does not have; numbers that are none.
    """
    with open_tensors(path, READABLE) as file:
        for names, family in ((_HF, VIT), (_TIMM, _TIMM_FAMILY)):
            found = current_names(file.tensors, family)
            if f"{names.patches}.weight" in found:
                tensors = {x: file.tensors[y] for x, y in found.items()}
                config = _config_of(tensors, names, n_heads)
                return read_model(file, on_meta(ViT, config), family)
        raise ValueError(
            "wanted a ViT of timm or Hugging Face, got neither "
            f"{_HF.patches}.weight nor {_TIMM.patches}.weight"
        )
