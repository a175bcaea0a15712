# Made from docs/chapters/37-images.md (4f13e7c4dfe7). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
import math
import re
from pathlib import Path

import torch
from torch import Tensor

from attention_book.tensor_files import (
    Tensors,
    one_line,
    open_tensors,
)
from attention_book.vit.config import ViTConfig
from attention_book.vit.model import ViT


__all__ = ["load_vit"]


_TIMM = {  # what is here : what is there
    "class_token": "cls_token",
    "positions.table": "pos_embed",
    "embed": "patch_embed.proj",
    "encoder.layers": "blocks",
    "residuals.0.norm": "norm1",
    "residuals.1.norm": "norm2",
    "self_attention.query": "attn.qkv",  # the three in one
    "self_attention.key": "attn.qkv",
    "self_attention.value": "attn.qkv",
    "self_attention.out_proj": "attn.proj",
    "feed_forward.up_proj": "mlp.fc1",
    "feed_forward.down_proj": "mlp.fc2",
    "encoder.norm": "norm",
    "head": "head",
}
_HUGGING_FACE = {
    "class_token": "embeddings.cls_token",
    "positions.table": "embeddings.position_embeddings",
    "embed": "embeddings.patch_embeddings.projection",
    "encoder.layers": "encoder.layer",
    "residuals.0.norm": "layernorm_before",
    "residuals.1.norm": "layernorm_after",
    "self_attention.query": "attention.attention.query",
    "self_attention.key": "attention.attention.key",
    "self_attention.value": "attention.attention.value",
    "self_attention.out_proj": "attention.output.dense",
    "feed_forward.up_proj": "intermediate.dense",
    "feed_forward.down_proj": "output.dense",
    "encoder.norm": "layernorm",
    "head": "classifier",
}
_PROJECTIONS = {"q_proj": ("query",), "kv_proj": ("key", "value")}


class _Checkpoint:
    """A file of timm's or Hugging Face's, read under this book's names.

    Raises:
        ValueError: It is no ViT.
    """

    def __init__(self, tensors: Tensors) -> None:
        self.used = set[str]()
        self.tensors = {
            name.removeprefix("vit."): x for name, x in tensors.items()
        }
        firsts = {
            f"{names['embed']}.weight": names
            for names in (_TIMM, _HUGGING_FACE)
        }
        found = [first for first in firsts if first in self.tensors]
        if not found:
            raise ValueError(
                "wanted a ViT of timm or Hugging Face, got neither "
                f"{' nor '.join(firsts)}"
            )
        self.names = firsts[found[0]]
        parts = "|".join(re.escape(name) for name in self.names)
        self.pattern = re.compile(rf"\b({parts})\b")

    def translate(self, parameter_name: str) -> str:
        """Return the file's name of a parameter."""
        return self.pattern.sub(
            lambda found: self.names[found[0]], parameter_name
        )

    def take(self, parameter_name: str) -> Tensor:
        """Return a tensor as it is; ValueError if there is none."""
        name = self.translate(parameter_name)
        if name not in self.tensors:
            raise ValueError(f"wanted {name}, got none")
        self.used.add(name)
        return self.tensors[name]

    def shape(self, parameter_name: str, n_axes: int) -> torch.Size:
        """Return a tensor's shape; ValueError unless it has n_axes."""
        shape = self.take(parameter_name).shape
        if len(shape) != n_axes:
            raise ValueError(
                f"wanted {self.translate(parameter_name)} with {n_axes} "
                f"axes, got {tuple(shape)}"
            )
        return shape

    def n_layers(self) -> int:
        """Return how many layers there are."""
        stem = rf"{re.escape(self.translate('encoder.layers'))}\.(\d+)\."
        found = (re.match(stem, name) for name in self.tensors)
        return len({x[1] for x in found if x})


def _split_qkv(file: _Checkpoint, parameter_name: str) -> Tensor:
    """Return the weight or bias of the queries, the keys or the values."""
    tensor = file.take(parameter_name)
    if file.names is _HUGGING_FACE:
        return tensor
    *_, part, _ = parameter_name.split(".")
    return tensor.chunk(3)[("query", "key", "value").index(part)]


def _convert(file: _Checkpoint, parameter_name: str) -> Tensor:
    """Return a parameter in the form that it has here."""
    for projection, parts in _PROJECTIONS.items():
        if projection in parameter_name:
            names = [parameter_name.replace(projection, x) for x in parts]
            return torch.cat([_split_qkv(file, name) for name in names])
    tensor = file.take(parameter_name)
    if parameter_name == "embed.weight":
        return tensor.permute(0, 2, 3, 1).flatten(1)  # p1 p2 c
    if parameter_name == "class_token":
        return tensor.flatten()
    if parameter_name == "positions.table":
        return tensor.flatten(0, -2)
    return tensor


_TENSORS_A_LAYER = 12  # of which one layer may lack some, which are named


def _config_of(file: _Checkpoint, n_heads: int | None) -> ViTConfig:
    """Return the configuration that the shapes of a file show."""
    d_model, n_channels, patch_size, _ = file.shape("embed.weight", 4)
    _, n_positions, _ = file.shape("positions.table", 3)
    has_class = file.translate("class_token") in file.tensors
    has_head = file.translate("head.weight") in file.tensors
    n_layers = file.n_layers()
    if (n_layers - 1) * _TENSORS_A_LAYER > len(file.tensors):
        raise ValueError(
            f"wanted {_TENSORS_A_LAYER} tensors a layer, got "
            f"{len(file.tensors)} for {n_layers} layers"
        )
    up_proj = "encoder.layers.0.feed_forward.up_proj.weight"
    return ViTConfig(
        image_size=patch_size * math.isqrt(max(0, n_positions - has_class)),
        patch_size=patch_size,
        n_channels=n_channels,
        n_classes=file.shape("head.weight", 2)[0] if has_head else 0,
        d_model=d_model,
        n_heads=d_model // 64 if n_heads is None else n_heads,
        d_ff=file.shape(up_proj, 2)[0],
        n_layers=n_layers,
        pooling="class" if has_class else "mean",
        epsilon=1e-6 if file.names is _TIMM else 1e-12,
    )


def _convert_all(file: _Checkpoint, model: ViT) -> Tensors:
    """Return all parameters; ValueError if a name or a shape does not fit."""
    tensors = {}
    for parameter_name, parameter in model.named_parameters():
        found = _convert(file, parameter_name)
        if found.shape != parameter.shape:
            raise ValueError(
                f"wanted {file.translate(parameter_name)} of "
                f"shape {tuple(parameter.shape)}, got {tuple(found.shape)}"
            )
        tensors[parameter_name] = found.float()
    for name in sorted(set(file.tensors) - file.used):
        if not name.startswith("pooler."):  # for the task of BERT, unused
            raise ValueError(f"wanted a plain ViT, got {one_line(name, 100)}")
    return tensors


def load_vit(path: str | Path, *, n_heads: int | None = None) -> ViT:
    """Read a ViT that timm or Hugging Face has written, as safetensors.

    Names and shapes are compared before any number is read.

    Args:
        path: The file.
        n_heads: The shapes do not tell it; by default d_model / 64.

    Raises:
        OSError: There is no such file, or it can't be read.
        ValueError: The first name that is missing, does not fit, or belongs
            to something that this ViT does not have; numbers that are none.
    """
    with open_tensors(path) as file:
        promised = _Checkpoint(file.tensors)
        config = _config_of(promised, n_heads)
        with torch.device("meta"):  # nothing is drawn at random
            model = ViT(config)
        _convert_all(promised, model)
        tensors = _convert_all(_Checkpoint(file.read()), model)
    model.load_state_dict(tensors, assign=True)
    return model.eval()
