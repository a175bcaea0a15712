# Made from docs/source/pretrained-files.md (9f734a21dd6c). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
import math
import re
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import nn

from attention_book.io.pretrained.family import Family
from attention_book.io.pretrained.layers import map_layer, map_weights
from attention_book.io.pretrained.layout import JoinedViews, Layout
from attention_book.io.pretrained.reading import (
    READABLE,
    build_on_meta,
    promise,
    read_model,
)
from attention_book.io.pretrained.settings import Settings
from attention_book.io.tensor_files import Tensors, open_tensors
from attention_book.models.vit import ViT, ViTConfig


__all__ = ["TIMM", "VIT", "load_vit", "timm_layout", "vit_layout"]


_VIT_LAYER = {
    "layernorm_before": ("norm 1",),
    "attention.attention.query": ("query",),
    "attention.attention.key": ("key",),
    "attention.attention.value": ("value",),
    "attention.output.dense": ("out",),
    "layernorm_after": ("norm 2",),
    "intermediate.dense": ("up",),
    "output.dense": ("down",),
}
_TIMM_LAYER = {
    "norm1": ("norm 1",),
    "attn.qkv": ("query", "key", "value"),
    "attn.proj": ("out",),
    "norm2": ("norm 2",),
    "mlp.fc1": ("up",),
    "mlp.fc2": ("down",),
}


@torch.no_grad()
def _map_patches(name: str, model: ViT) -> Layout:
    """Return where the convolution that cuts and projects patches stands.

    Its features of a patch come as (channel, row, column), ours as (row,
    column, channel).
    """
    side = model.config.patch_size
    weight = model.embed.weight.view(-1, side, side, model.config.n_channels)
    return {
        f"{name}.weight": JoinedViews((weight.permute(0, 3, 1, 2),)),
        f"{name}.bias": JoinedViews((model.embed.bias,)),
    }


@torch.no_grad()
def _map_tokens(token: str, positions: str, model: ViT) -> Layout:
    """Return where the class token and the positions stand."""
    layout = {positions: JoinedViews((model.positions.table[None],))}
    if model.class_token is not None:
        layout[token] = JoinedViews((model.class_token[None, None],))
    return layout


def vit_layout(model: ViT) -> Layout:
    """Return where the tensors of transformers' ViT stand in ours."""
    stem = "vit.embeddings"
    layout = {
        **_map_tokens(
            f"{stem}.cls_token", f"{stem}.position_embeddings", model
        ),
        **_map_patches(f"{stem}.patch_embeddings.projection", model),
        **map_weights("vit.layernorm", model.encoder.norm),
    }
    for i, layer in enumerate(model.encoder.layers):
        layout |= map_layer(f"vit.encoder.layer.{i}", layer, _VIT_LAYER)
    if not isinstance(model.head, nn.Identity):
        layout |= map_weights("classifier", model.head)
    return layout


def timm_layout(model: ViT) -> Layout:
    """Return where the tensors of timm's VisionTransformer stand in ours."""
    layout = {
        **_map_tokens("cls_token", "pos_embed", model),
        **_map_patches("patch_embed.proj", model),
        **map_weights("norm", model.encoder.norm),
    }
    for i, layer in enumerate(model.encoder.layers):
        layout |= map_layer(f"blocks.{i}", layer, _TIMM_LAYER)
    if not isinstance(model.head, nn.Identity):
        layout |= map_weights("head", model.head)
    return layout


def _build_vit(settings: Settings) -> ViT:
    """Make ViTForImageClassification."""
    settings.demand(qkv_bias=True, hidden_act="gelu")
    return ViT(
        ViTConfig(
            image_size=settings.count("image_size", 224),
            patch_size=settings.count("patch_size", 16),
            n_channels=settings.count("num_channels", 3),
            n_classes=len(settings.labels()),
            d_model=settings.count("hidden_size", 768),
            n_heads=settings.count("num_attention_heads", 12),
            d_ff=settings.count("intermediate_size", 3072),
            n_layers=settings.layers("num_hidden_layers", 12),
            dropout=settings.number("hidden_dropout_prob", 0.0),
            epsilon=settings.number("layer_norm_eps", 1e-12),
        )
    )


def _describe_vit(model: ViT) -> dict[str, Any]:
    """Return config.json of a ViT."""
    c = model.config
    if c.pooling != "class" or not c.n_classes:
        raise ValueError(
            "a ViT of transformers has pooling='class' and a head, got "
            f"{c.pooling!r} and {c.n_classes} classes"
        )
    return {
        "image_size": c.image_size,
        "patch_size": c.patch_size,
        "num_channels": c.n_channels,
        "hidden_size": c.d_model,
        "num_attention_heads": c.n_heads,
        "intermediate_size": c.d_ff,
        "num_hidden_layers": c.n_layers,
        "hidden_dropout_prob": c.dropout,
        "attention_probs_dropout_prob": 0.0,
        "layer_norm_eps": c.epsilon,
        "hidden_act": "gelu",
        "qkv_bias": True,
    }


VIT = Family(
    "vit",
    _build_vit,
    _describe_vit,
    vit_layout,
    ViT,
    {r"^(embeddings|encoder|layernorm|pooler)\.": r"vit.\1."},
    r"vit\.pooler\..*",  # for the task of BERT
)
TIMM = VIT._replace(model_type="timm", layout=timm_layout, renamed={})


_FIRSTS = {
    "vit.embeddings.patch_embeddings.projection.weight": VIT,
    "patch_embed.proj.weight": TIMM,
}
_TENSORS_A_LAYER = 12  # of which one layer may lack some, which are named


def _shape(promised: Tensors, name: str, n_axes: int) -> torch.Size:
    """Return a tensor's shape; ValueError unless it has n_axes."""
    if name not in promised:
        raise ValueError(f"wanted {name}, got none")
    shape = promised[name].shape
    if len(shape) != n_axes:
        raise ValueError(
            f"wanted {name} with {n_axes} axes, got {tuple(shape)}"
        )
    return shape


def _config_of(
    promised: Tensors, first: str, n_heads: int | None
) -> ViTConfig:
    """Return the configuration that the shapes of a file show."""
    is_timm = _FIRSTS[first] is TIMM
    token, positions, stem, up, head = (
        ("cls_token", "pos_embed", "blocks", "mlp.fc1", "head")
        if is_timm
        else (
            "vit.embeddings.cls_token",
            "vit.embeddings.position_embeddings",
            "vit.encoder.layer",
            "intermediate.dense",
            "classifier",
        )
    )
    d_model, n_channels, patch_size, _ = _shape(promised, first, 4)
    _, n_positions, _ = _shape(promised, positions, 3)
    has_class = token in promised
    has_head = f"{head}.weight" in promised
    layers = (re.match(rf"{re.escape(stem)}\.(\d+)\.", x) for x in promised)
    n_layers = len({found[1] for found in layers if found})
    if (n_layers - 1) * _TENSORS_A_LAYER > len(promised):
        raise ValueError(
            f"wanted {_TENSORS_A_LAYER} tensors a layer, got "
            f"{len(promised)} for {n_layers} layers"
        )
    return ViTConfig(
        image_size=patch_size * math.isqrt(max(0, n_positions - has_class)),
        patch_size=patch_size,
        n_channels=n_channels,
        n_classes=_shape(promised, f"{head}.weight", 2)[0] if has_head else 0,
        d_model=d_model,
        n_heads=d_model // 64 if n_heads is None else n_heads,
        d_ff=_shape(promised, f"{stem}.0.{up}.weight", 2)[0],
        n_layers=n_layers,
        pooling="class" if has_class else "mean",
        epsilon=1e-6 if is_timm else 1e-12,
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
        for first, family in _FIRSTS.items():
            names = promise(file.tensors, family)
            if first in names:
                promised = {x: file.tensors[y] for x, y in names.items()}
                config = _config_of(promised, first, n_heads)
                model = build_on_meta(partial(ViT, config))
                return read_model(file, model, family)
        raise ValueError(
            "wanted a ViT of timm or Hugging Face, got neither "
            f"{' nor '.join(_FIRSTS)}"
        )
