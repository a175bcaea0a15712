# Made from docs/chapters/37-images.md (7522b91debcb). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
import math
import re
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load
from torch import Tensor

from attention_book.checkpoints.headers import Tensors
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


def _read_checkpoint(path: str | Path) -> tuple[Tensors, dict[str, str]]:
    """Return what a file holds, and the table of its library's names.

    Raises:
        ValueError: It is no safetensors file, or no ViT.
    """
    if Path(path).is_dir():
        raise ValueError(f"{path}: wanted a file, got a folder")
    try:
        found = load(Path(path).read_bytes())
    except SafetensorError as error:
        raise ValueError(
            f"{path}: wanted a safetensors file, got: {error}"
        ) from None
    tensors = {name.removeprefix("vit."): x for name, x in found.items()}
    firsts = [f"{names['embed']}.weight" for names in (_TIMM, _HUGGING_FACE)]
    for names, first in zip((_TIMM, _HUGGING_FACE), firsts, strict=True):
        if first in tensors:
            return tensors, names
    raise ValueError(
        f"{path}: wanted a ViT of timm or Hugging Face, got neither "
        f"{firsts[0]} nor {firsts[1]}"
    )


class _Checkpoint:
    """A file of timm's or Hugging Face's, read under this book's names."""

    def __init__(self, path: str | Path) -> None:
        self.path = path
        self.used = set[str]()
        self.tensors, self.names = _read_checkpoint(path)
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
            raise ValueError(f"{self.path}: wanted {name}, got none")
        self.used.add(name)
        return self.tensors[name]

    def shape(self, parameter_name: str, n_axes: int) -> torch.Size:
        """Return a tensor's shape; ValueError unless it has n_axes."""
        shape = self.take(parameter_name).shape
        if len(shape) != n_axes:
            raise ValueError(
                f"{self.path}: wanted {self.translate(parameter_name)} with "
                f"{n_axes} axes, got {tuple(shape)}"
            )
        return shape

    def n_layers(self) -> int:
        """Return how many layers there are."""
        stem = rf"{re.escape(self.translate('encoder.layers'))}\.(\d+)\."
        found = (re.match(stem, name) for name in self.tensors)
        return 1 + max((int(x[1]) for x in found if x), default=0)


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


def _from_tensors(file: _Checkpoint, config: ViTConfig) -> ViT:
    """Make a ViT of a file's tensors; ValueError if a shape does not fit."""
    with torch.device("meta"):  # nothing is drawn at random
        model = ViT(config)
    tensors = {}
    for parameter_name, parameter in model.named_parameters():
        found = _convert(file, parameter_name)
        if found.shape != parameter.shape:
            raise ValueError(
                f"{file.path}: wanted {file.translate(parameter_name)} of "
                f"shape {tuple(parameter.shape)}, got {tuple(found.shape)}"
            )
        tensors[parameter_name] = found.float()
    model.load_state_dict(tensors, assign=True)
    return model.eval()


def load_vit(path: str | Path, *, n_heads: int | None = None) -> ViT:
    """Read a ViT that timm or Hugging Face has written, as safetensors.

    Args:
        path: The file.
        n_heads: The shapes do not tell it; by default d_model / 64.

    Raises:
        ValueError: The first name that is missing, does not fit, or belongs
            to something that this ViT does not have.
    """
    file = _Checkpoint(path)
    d_model, n_channels, patch_size, _ = file.shape("embed.weight", 4)
    _, n_positions, _ = file.shape("positions.table", 3)
    has_class = file.translate("class_token") in file.tensors
    has_head = file.translate("head.weight") in file.tensors
    config = ViTConfig(
        image_size=patch_size * math.isqrt(n_positions - has_class),
        patch_size=patch_size,
        n_channels=n_channels,
        n_classes=len(file.take("head.weight")) if has_head else 0,
        d_model=d_model,
        n_heads=d_model // 64 if n_heads is None else n_heads,
        d_ff=len(file.take("encoder.layers.0.feed_forward.up_proj.weight")),
        n_layers=file.n_layers(),
        pooling="class" if has_class else "mean",
        epsilon=1e-6 if file.names is _TIMM else 1e-12,
    )
    model = _from_tensors(file, config)
    for name in sorted(set(file.tensors) - file.used):
        if not name.startswith("pooler."):  # for the task of BERT, unused
            raise ValueError(f"{path}: wanted a plain ViT, got {name}")
    return model
