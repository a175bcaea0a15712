# Made from docs/source/pretrained-files.md (50fb3877993e). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""Vision Transformers, as transformers and timm save them.

Explained on the page "Folders of pretrained models".
"""

import math
from collections.abc import Mapping
from functools import partial
from pathlib import Path

from attention_book.io.checkpoints import TENSORS_A_LAYER, on_meta
from attention_book.io.pretrained.family import Family, read_model
from attention_book.io.pretrained.layout import Layout, WeightSlot, map_weights
from attention_book.io.tensors import Tensors, open_tensors
from attention_book.models.config import ViTConfig
from attention_book.models.vit import ViT


__all__ = ["VIT_FAMILIES", "load_vit"]


def _layout(
    model: ViT, parts: Mapping[str, str], layer: Mapping[str, str]
) -> Layout:
    """Return where the tensors of a file stand in a model.

    Patches are cut and projected by a convolution, whose features come as
    (channel, row, column), ours as (row, column, channel).

    Args:
        model: Of the book.
        parts: What the file calls the parts of a ViT.
        layer: For each name within a layer, the parts of ours.
    """
    side = model.config.patch_size
    shape = (-1, side, side, model.config.n_channels)
    kernel = model.embed.weight.detach().view(shape)
    table = model.positions.table.detach()
    layout = {
        parts["patches"] + ".weight": WeightSlot(
            (kernel.permute(0, 3, 1, 2),)
        ),
        parts["patches"] + ".bias": WeightSlot((model.embed.bias,)),
        parts["positions"]: WeightSlot((table[None],)),
        **map_weights("", model, {parts["norm"]: "encoder.norm"}),
    }
    if model.class_token is not None:
        token = model.class_token.detach()[None, None]
        layout[parts["class"]] = WeightSlot((token,))
    for i, ours in enumerate(model.encoder.layers):
        layout |= map_weights(f"{parts['layers']}.{i}.", ours, layer)
    if model.config.n_classes:
        layout |= map_weights("", model, {parts["head"]: "head"})
    return layout


_CLASSIFIER = Family(
    architecture="ViTForImageClassification",
    model_class=ViT,
    build=lambda fields, n: ViT(ViTConfig(n_classes=n, **fields)),
    layout=partial(
        _layout,
        parts={
            "patches": "vit.embeddings.patch_embeddings.projection",
            "class": "vit.embeddings.cls_token",
            "positions": "vit.embeddings.position_embeddings",
            "layers": "vit.encoder.layer",
            "norm": "vit.layernorm",
            "head": "classifier",
        },
        layer={
            "layernorm_before": "residuals.0.norm",
            "attention.attention.query": "self_attention.q_proj",
            "attention.attention.key": "self_attention.key",
            "attention.attention.value": "self_attention.value",
            "attention.output.dense": "self_attention.out_proj",
            "layernorm_after": "residuals.1.norm",
            "intermediate.dense": "feed_forward.up_proj",
            "output.dense": "feed_forward.down_proj",
        },
    ),
    entries={  # entry: our field, its default
        "image_size": ("image_size", 224),
        "patch_size": ("patch_size", 16),
        "num_channels": ("n_channels", 3),
        "hidden_size": ("d_model", 768),
        "num_attention_heads": ("n_heads", 12),
        "intermediate_size": ("d_ff", 3072),
        "num_hidden_layers": ("n_layers", 12),
        "hidden_dropout_prob": ("dropout", 0.0),
        "layer_norm_eps": ("eps", 1e-12),
    },
    fixed={"model_type": "vit", "qkv_bias": True, "hidden_act": "gelu"},
    fields={"pooling": "class"},
    written=lambda config: {"attention_probs_dropout_prob": 0.0},
    renamed={r"^(embeddings|encoder|layernorm|pooler)\.": r"vit.\1."},
    unused=r"vit\.pooler\..*",  # for the task of BERT
    has_labels=True,
)
VIT_FAMILIES = (
    _CLASSIFIER,
    _CLASSIFIER._replace(architecture="ViTModel", has_labels=False),
)


_TIMM = _CLASSIFIER._replace(
    layout=partial(
        _layout,
        parts={
            "patches": "patch_embed.proj",
            "class": "cls_token",
            "positions": "pos_embed",
            "layers": "blocks",
            "norm": "norm",
            "head": "head",
        },
        layer={
            "norm1": "residuals.0.norm",
            "attn.qkv": "self_attention.q_proj + self_attention.kv_proj",
            "attn.proj": "self_attention.out_proj",
            "norm2": "residuals.1.norm",
            "mlp.fc1": "feed_forward.up_proj",
            "mlp.fc2": "feed_forward.down_proj",
        },
    ),
    renamed={},
)


def _timm_config(tensors: Tensors, n_heads: int | None) -> ViTConfig:
    """Return the configuration that the shapes of a file show."""
    patches = tensors["patch_embed.proj.weight"]
    d_model, n_channels, patch_size = patches.shape[:3]
    has_class = "cls_token" in tensors
    n_patches = tensors["pos_embed"].shape[-2] - has_class
    layers = {x.split(".")[1] for x in tensors if x.startswith("blocks.")}
    return ViTConfig(
        image_size=patch_size * math.isqrt(n_patches),
        patch_size=patch_size,
        n_channels=n_channels,
        n_classes=len(tensors["head.bias"]) if "head.bias" in tensors else 0,
        d_model=d_model,
        n_heads=d_model // 64 if n_heads is None else n_heads,
        d_ff=len(tensors["blocks.0.mlp.fc1.bias"]),
        n_layers=min(len(layers), len(tensors) // TENSORS_A_LAYER),
        pooling="class" if has_class else "mean",
        eps=1e-6,
    )


def load_vit(path: str | Path, *, n_heads: int | None = None) -> ViT:
    """Read a ViT that timm has written, as safetensors.

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
    with open_tensors(path) as file:
        config = _timm_config(file.tensors, n_heads)
        return read_model(file, on_meta(ViT, config), _TIMM)
