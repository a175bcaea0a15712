# Made from docs/beyond/vit.md (eb5c1a3aadf8). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""The Vision Transformer. Explained in the chapter of that name."""

import copy
from dataclasses import replace
from functools import partial

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from attention_book.attention.positions import LearnedPositions
from attention_book.models.config import ViTConfig, make_encoder
from attention_book.models.encoder import FeedForward


__all__ = ["Images", "ViT", "patchify", "resize"]


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
        self.encoder = make_encoder(
            c.n_layers,
            c.d_model,
            c.n_heads,
            c.d_ff,
            dropout=c.dropout,
            eps=c.eps,
            feed_forward=feed_forward,
        )
        self.head: nn.Module = nn.Identity()
        if c.n_classes:
            self.head = nn.Linear(c.d_model, c.n_classes)

    def tokens(self, images: Images) -> Float[Tensor, "batch tokens d_model"]:
        """Embed the patches, add positions; the class token comes first."""
        c = self.config
        sides = (c.n_channels, c.image_size, c.image_size)
        if images.shape[1:] != sides:  # others may have as many patches
            raise ValueError(
                f"images must be (batch, {', '.join(map(str, sides))}), "
                f"got shape {tuple(images.shape)}"
            )
        patches = patchify(images, c.patch_size)
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
