# Made from docs/source/training-images.md (ed9e0b7e25c3). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
import copy
from dataclasses import replace
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from attention_book._checks import check_layer_input, check_tensor
from attention_book.attention.positions import LearnedPositions
from attention_book.models.encoder import Encoder, EncoderLayer, FeedForward
from attention_book.models.patches import Images, patchify
from attention_book.models.vit_config import ViTConfig


__all__ = ["ViT", "resize"]


def _make_layer(c: ViTConfig) -> EncoderLayer:
    """Make one layer: pre-norm, with GELU."""
    return EncoderLayer(
        c.d_model,
        c.n_heads,
        c.d_ff,
        norm="pre",
        dropout=c.dropout,
        eps=c.epsilon,
        feed_forward=partial(
            FeedForward, activation=F.gelu, dropout=c.dropout
        ),
    )


class ViT(nn.Module):
    """Vision Transformer: from images to the logits of their classes.

    Args:
        config: The hyperparameters.

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
        layers = [_make_layer(c) for _ in range(c.n_layers)]
        self.encoder = Encoder(layers, nn.LayerNorm(c.d_model, eps=c.epsilon))
        self.head: nn.Module = nn.Identity()
        if c.n_classes:
            self.head = nn.Linear(c.d_model, c.n_classes)

    def tokens(self, images: Images) -> Float[Tensor, "batch tokens d_model"]:
        """Embed the patches, add positions; the class token comes first.

        Raises:
            ValueError: The images are not of the configured shape.
        """
        check_tensor("images", images)
        c = self.config
        wanted = (c.n_channels, c.image_size, c.image_size)
        if images.shape[1:] != wanted or not images.is_floating_point():
            raise ValueError(
                f"images must be a floating-point tensor (batch, {wanted[0]}, "
                f"{wanted[1]}, {wanted[2]}), got {images.dtype} of shape "
                f"{tuple(images.shape)}"
            )
        patches = patchify(images, c.patch_size)
        check_layer_input("images", patches, self.embed.weight)
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

    @classmethod
    def tiny(cls, **changes: Any) -> "ViT":
        """DeiT-Ti, with changes; Touvron et al. (2021), table 1."""
        sizes = {"d_model": 192, "n_heads": 3, "d_ff": 768}
        return cls(ViTConfig(**sizes | changes))

    @classmethod
    def small(cls, **changes: Any) -> "ViT":
        """DeiT-S, with changes; Touvron et al. (2021), table 1."""
        sizes = {"d_model": 384, "n_heads": 6, "d_ff": 1536}
        return cls(ViTConfig(**sizes | changes))

    @classmethod
    def base(cls, **changes: Any) -> "ViT":
        """ViT-B/16, with changes; Dosovitskiy et al. (2021), table 1."""
        return cls(ViTConfig(**changes))

    @classmethod
    def large(cls, **changes: Any) -> "ViT":
        """ViT-L/16, with changes; Dosovitskiy et al. (2021), table 1."""
        sizes = {"d_model": 1024, "n_heads": 16, "d_ff": 4096, "n_layers": 24}
        return cls(ViTConfig(**sizes | changes))


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
