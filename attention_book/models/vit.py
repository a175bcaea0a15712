# Made from docs/beyond/vit.md (ffaf5da6e6b8). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""The Vision Transformer. Explained in the chapter of that name."""

import copy
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from attention_book._checks import check_fields, check_heads
from attention_book.attention.positions import LearnedPositions
from attention_book.models.encoder import Encoder, EncoderLayer, FeedForward


__all__ = ["SIZES", "Images", "ViT", "ViTConfig", "patchify", "resize"]


Images = Float[Tensor, "batch channels height width"]


def patchify(
    images: Images, size: int
) -> Float[Tensor, "batch patches features"]:
    """Cut images into squares, row by row, each as one vector.

    In the notation of einops: b c (h p1) (w p2) -> b (h w) (p1 p2 c), with
    p1 = p2 = size.

    Source: Dosovitskiy et al. (2021), §3.1.
    """
    batch, channels, height, width = images.shape
    rows = height // size
    columns = width // size
    x = images.reshape(batch, channels, rows, size, columns, size)
    x = x.permute(0, 2, 4, 3, 5, 1)  # b h w p1 p2 c
    return x.reshape(batch, rows * columns, size * size * channels)


@dataclass(frozen=True, kw_only=True)
class ViTConfig:
    """The hyperparameters of a ViT: by default ViT-B/16 for ImageNet.

    Attributes:
        image_size: Height and width of the images.
        patch_size: Height and width of a patch; divides image_size.
        n_channels: 3 for colour, 1 for grey.
        n_classes: Number of classes; 0 for a model without a head.
        d_model: Width of the token vectors.
        n_heads: Number of heads; divides d_model.
        d_ff: Width in the middle of the feed-forward networks.
        n_layers: Number of layers.
        dropout: Dropout rate, applied as in the paper's appendix B.1.
        pooling: What is classified: a class token, or the mean of all.
        epsilon: What layer normalisation adds to the variance.

    Source: Dosovitskiy et al. (2021), table 1.
    """

    image_size: int = 224
    patch_size: int = 16
    n_channels: int = 3
    n_classes: int = 1000
    d_model: int = 768
    n_heads: int = 12
    d_ff: int = 3072
    n_layers: int = 12
    dropout: float = 0.0
    pooling: Literal["class", "mean"] = "class"
    epsilon: float = 1e-6

    def __post_init__(self) -> None:
        check_fields(
            self,
            least={"n_classes": 0},
            rates=["dropout"],
            positive=["epsilon"],
        )
        check_heads(self.d_model, self.n_heads, self.n_heads)
        if self.image_size % self.patch_size:
            raise ValueError(
                f"patch_size must divide image_size = {self.image_size}, "
                f"got {self.patch_size}"
            )

    @property
    def grid(self) -> int:
        """How many patches stand side by side."""
        return self.image_size // self.patch_size


class ViT(nn.Module):
    """Vision Transformer: from images to the logits of their classes.

    Source: Dosovitskiy et al. (2021), §3.1, eq. 1 to 4; Beyer et al. (2022)
        for the mean. The paper's head for pre-training has a hidden layer;
        this one is a single layer, as theirs for fine-tuning.
    """

    def __init__(self, config: ViTConfig) -> None:
        super().__init__()
        self.config = config
        c = config
        self.embed = nn.Linear(c.n_channels * c.patch_size**2, c.d_model)
        self.class_token: nn.Parameter | None = None
        n_tokens = c.grid**2
        if c.pooling == "class":
            self.class_token = nn.Parameter(torch.zeros(c.d_model))
            n_tokens += 1
        self.positions = LearnedPositions(n_tokens, c.d_model)
        nn.init.normal_(self.positions.table, std=0.5)  # as the patches are
        self.dropout = nn.Dropout(c.dropout)
        feed_forward = partial(
            FeedForward, activation=F.gelu, dropout=c.dropout
        )
        layers = [
            EncoderLayer(
                c.d_model,
                c.n_heads,
                c.d_ff,
                norm="pre",
                dropout=c.dropout,
                eps=c.epsilon,
                feed_forward=feed_forward,
            )
            for _ in range(c.n_layers)
        ]
        self.encoder = Encoder(layers, nn.LayerNorm(c.d_model, eps=c.epsilon))
        self.head: nn.Module = nn.Identity()
        if c.n_classes:
            self.head = nn.Linear(c.d_model, c.n_classes)

    def tokens(self, images: Images) -> Float[Tensor, "batch tokens d_model"]:
        """Embed the patches, add positions; the class token comes first."""
        _check_images(images, self.config)
        patches = patchify(images, self.config.patch_size)
        x = self.embed(patches)
        if self.class_token is not None:
            first = self.class_token.expand(x.shape[0], 1, -1)
            x = torch.cat([first, x], dim=1)
        return self.dropout(self.positions(x))

    def forward(self, images: Images) -> Float[Tensor, "batch n_classes"]:
        """Return the logits; without a head, what it would be given."""
        x = self.encoder(self.tokens(images))
        x = x.mean(dim=1) if self.class_token is None else x[:, 0]
        return self.head(x)


def _check_images(images: Tensor, c: ViTConfig) -> None:
    """Raise ValueError unless these are images of the configured shape."""
    sides = (c.n_channels, c.image_size, c.image_size)
    if images.shape[1:] != sides or not images.is_floating_point():
        wanted = ", ".join(map(str, sides))
        raise ValueError(
            f"images must be floating-point (batch, {wanted}), "
            f"got {images.dtype} of shape {tuple(images.shape)}"
        )


SIZES = {  # Touvron et al. (2021) and Dosovitskiy et al. (2021), tables 1
    "tiny": {"d_model": 192, "n_heads": 3, "d_ff": 768, "n_layers": 12},
    "small": {"d_model": 384, "n_heads": 6, "d_ff": 1536, "n_layers": 12},
    "base": {"d_model": 768, "n_heads": 12, "d_ff": 3072, "n_layers": 12},
    "large": {"d_model": 1024, "n_heads": 16, "d_ff": 4096, "n_layers": 24},
}


@torch.no_grad()
def resize(model: ViT, image_size: int) -> ViT:
    """Return a copy for images of another size, positions interpolated.

    The grid of positions is stretched by bicubic interpolation, smoothed
    where it shrinks; the class token keeps its own. So enlarging is as in
    Hugging Face and shrinking as in timm, which smooths either way.

    Source: Dosovitskiy et al. (2021), §3.2.
    """
    other = copy.deepcopy(model)
    table = model.positions.table
    c = replace(model.config, image_size=image_size)
    other.config = c
    old = model.config.grid
    first = table[: -(old**2)]
    grid = table[-(old**2) :]
    grid = grid.float().view(old, old, -1).permute(2, 0, 1)
    grid = F.interpolate(
        grid[None], c.grid, mode="bicubic", antialias=c.grid < old
    )[0]
    grid = grid.flatten(1).T.to(table.dtype)
    other.positions.table = nn.Parameter(torch.cat([first, grid]))
    return other
