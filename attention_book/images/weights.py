# Made from docs/chapters/37-images.md (c70e7b86a6aa). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
import math
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load
from torch import Tensor

from attention_book.checkpoints.files import Tensors
from attention_book.vit.config import ViTConfig
from attention_book.vit.model import ViT


TIMM = {  # what is here : what is there
    "class_token": "cls_token",
    "positions.table": "pos_embed",
    "embed": "patch_embed.proj",
    "encoder.layers": "blocks",
    "around.0.norm": "norm1",
    "around.1.norm": "norm2",
    "attention.query": "attn.qkv",  # the three in one
    "attention.key": "attn.qkv",
    "attention.value": "attn.qkv",
    "attention.out_proj": "attn.proj",
    "feed_forward.up_proj": "mlp.fc1",
    "feed_forward.down_proj": "mlp.fc2",
    "encoder.norm": "norm",
    "head": "head",
}


HUGGING_FACE = {
    "class_token": "embeddings.cls_token",
    "positions.table": "embeddings.position_embeddings",
    "embed": "embeddings.patch_embeddings.projection",
    "encoder.layers": "encoder.layer",
    "around.0.norm": "layernorm_before",
    "around.1.norm": "layernorm_after",
    "attention.query": "attention.attention.query",
    "attention.key": "attention.attention.key",
    "attention.value": "attention.attention.value",
    "attention.out_proj": "attention.output.dense",
    "feed_forward.up_proj": "intermediate.dense",
    "feed_forward.down_proj": "output.dense",
    "encoder.norm": "layernorm",
    "head": "classifier",
}


def read_checkpoint(path: str | Path) -> tuple[Tensors, dict[str, str]]:
    """Return what a file holds, and what its library calls the parts.

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
    firsts = [f"{kind['embed']}.weight" for kind in (TIMM, HUGGING_FACE)]
    for kind, first in zip((TIMM, HUGGING_FACE), firsts, strict=True):
        if first in tensors:
            return tensors, kind
    raise ValueError(
        f"{path}: wanted a ViT of timm or Hugging Face, got neither "
        f"{firsts[0]} nor {firsts[1]}"
    )


class Checkpoint:
    """A file of timm's or Hugging Face's, read under this book's names."""

    def __init__(self, path: str | Path) -> None:
        self.path = path
        self.used = set[str]()
        self.tensors, self.names = read_checkpoint(path)
        parts = "|".join(re.escape(name) for name in self.names)
        self.pattern = re.compile(rf"\b({parts})\b")

    def name(self, ours: str) -> str:
        """Translate a name of ours into the file's."""
        return self.pattern.sub(lambda found: self.names[found[0]], ours)

    def take(self, ours: str) -> Tensor:
        """Return a tensor as it is; ValueError if there is none."""
        name = self.name(ours)
        if name not in self.tensors:
            raise ValueError(f"{self.path}: wanted {name}, got none")
        self.used.add(name)
        return self.tensors[name]

    def sizes(self, ours: str, n: int) -> torch.Size:
        """Return a tensor's shape; ValueError unless it has n axes."""
        shape = self.take(ours).shape
        if len(shape) != n:
            raise ValueError(
                f"{self.path}: wanted {self.name(ours)} with {n} axes, "
                f"got {tuple(shape)}"
            )
        return shape

    def n_layers(self) -> int:
        """Return how many layers there are."""
        stem = rf"{re.escape(self.name('encoder.layers'))}\.(\d+)\."
        found = (re.match(stem, name) for name in self.tensors)
        return 1 + max((int(x[1]) for x in found if x), default=0)


def third(file: Checkpoint, ours: str) -> Tensor:
    """Return what makes the queries, the keys or the values."""
    tensor = file.take(ours)
    names = ("query", "key", "value")
    if file.names is HUGGING_FACE:
        return tensor
    return tensor.chunk(3)[names.index(ours.split(".")[-2])]


def convert(file: Checkpoint, ours: str) -> Tensor:
    """Return a parameter in the form that it has here."""
    for parts in ("key", "value"), ("query",):
        whole = f"project_{'_'.join(parts)}"
        if whole in ours:
            names = [ours.replace(whole, part) for part in parts]
            return torch.cat([third(file, name) for name in names])
    tensor = file.take(ours)
    if ours == "embed.weight":
        return tensor.permute(0, 2, 3, 1).flatten(1)  # p1 p2 c
    if ours == "class_token":
        return tensor.flatten()
    return tensor.flatten(0, -2) if ours == "positions.table" else tensor


def fill(
    path: str | Path,
    config: ViTConfig,
    take: Callable[[str], Tensor],
    name: Callable[[str], str] = str,
) -> ViT:
    """Make a ViT of what take returns; ValueError if a shape does not fit.

    name is what to call a parameter in the error.
    """
    with torch.device("meta"):  # nothing is drawn at random
        model = ViT(config)
    tensors = {}
    for ours, parameter in model.named_parameters():
        found = take(ours)
        wanted = tuple(parameter.shape)
        if found.shape != wanted:
            raise ValueError(
                f"{path}: wanted {name(ours)} to fill {wanted}, "
                f"got {tuple(found.shape)}"
            )
        tensors[ours] = found.float()
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
    file = Checkpoint(path)
    d_model, n_channels, patch_size, _ = file.sizes("embed.weight", 4)
    _, n_positions, _ = file.sizes("positions.table", 3)
    has_class = file.name("class_token") in file.tensors
    has_head = file.name("head.weight") in file.tensors
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
        epsilon=1e-6 if file.names is TIMM else 1e-12,
    )
    model = fill(path, config, partial(convert, file), file.name)
    for name in sorted(set(file.tensors) - file.used):
        if not name.startswith("pooler."):  # for the task of BERT, unused
            raise ValueError(f"{path}: wanted a plain ViT, got {name}")
    return model
