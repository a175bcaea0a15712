# Made from docs/transformer/encoder.md (e28da86ad75e). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""The encoder of a Transformer, its layers and what these are made of.

Explained in the chapter "The encoder".
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Literal

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from attention_book._checks import check_rate, check_size
from attention_book.attention.caches import KeyValueCache, per_layer
from attention_book.attention.multi_head import MultiHeadAttention
from attention_book.attention.packed import Mask
from attention_book.models.residuals import residual_connections


__all__ = ["Encoder", "EncoderLayer", "FeedForward", "MakeAttention", "SwiGLU"]


MakeAttention = Callable[[int, int], MultiHeadAttention]


class FeedForward(nn.Module):
    """max(0, x W_1 + b_1) W_2 + b_2 for each token alone.

    Args:
        d_model: Width of input and output.
        d_ff: Width in the middle; the paper takes 4 d_model.
        activation: torch.relu in the paper, F.gelu in BERT.
        dropout: Dropout rate of the middle; the paper has none there.

    Source: Vaswani et al. (2017), §3.3, eq. 2.
    """

    def __init__(
        self,
        d_model: int,
        d_ff: int,
        *,
        activation: Callable[[Tensor], Tensor] = torch.relu,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        check_size("d_ff", d_ff)
        check_rate("dropout", dropout)
        if not callable(activation):
            raise ValueError(
                f"activation must be a function, got {activation!r}"
            )
        self.up_proj = nn.Linear(d_model, d_ff)
        self.down_proj = nn.Linear(d_ff, d_model)
        self.activation = activation
        self.dropout = nn.Dropout(dropout)

    def forward(
        self, x: Float[Tensor, "*batch d_model"]
    ) -> Float[Tensor, "*batch d_model"]:
        """Apply the network to each token."""
        middle = self.activation(self.up_proj(x))  # (*batch, d_ff)
        return self.down_proj(self.dropout(middle))


class EncoderLayer(nn.Module):
    """Self-attention, then a feed-forward network, each with its residual.

    Args:
        d_model: Width of the token vectors.
        n_heads: Heads of the attention.
        d_ff: Width in the middle of the feed-forward network.
        norm: "post" for PostNorm, "pre" for PreNorm.
        dropout: Dropout rate of each sublayer's output.
        eps: What the normalisations add to the variance.
        self_attention: Makes the attention from d_model and n_heads.
        feed_forward: Makes the network from d_model and d_ff.

    Source: Vaswani et al. (2017), §3.1 and figure 1, left.
    """

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        d_ff: int,
        *,
        norm: Literal["post", "pre"] = "post",
        dropout: float = 0.0,
        eps: float = 1e-5,
        self_attention: MakeAttention = MultiHeadAttention,
        feed_forward: Callable[[int, int], nn.Module] = FeedForward,
    ) -> None:
        super().__init__()
        self.self_attention = self_attention(d_model, n_heads)
        self.feed_forward = feed_forward(d_model, d_ff)
        self.residuals = residual_connections(2, norm, d_model, dropout, eps)

    def forward(
        self,
        x: Float[Tensor, "*batch length d_model"],
        mask: Mask = None,
        cache: KeyValueCache | None = None,
        *,
        is_causal: bool = False,
    ) -> Float[Tensor, "*batch length d_model"]:
        """Return the tokens in their context; all else as attention takes."""
        add_attention, add_feed_forward = self.residuals
        x = add_attention(
            x,
            lambda y: self.self_attention(
                y, mask=mask, is_causal=is_causal, cache=cache
            ),
        )
        return add_feed_forward(x, self.feed_forward)


class Encoder(nn.Module):
    """A stack of layers.

    Args:
        layers: From the first to the last.
        norm: The final normalisation: a LayerNorm for pre-norm layers, whose
            sums nothing else has normalised, and nothing for post-norm.

    Source: Vaswani et al. (2017), §3.1.
    """

    def __init__(
        self, layers: Iterable[EncoderLayer], norm: nn.Module | None = None
    ) -> None:
        super().__init__()
        if isinstance(norm, str):  # "pre" is for the layers
            raise ValueError(f"norm must be a module or None, got {norm!r}")
        self.layers = nn.ModuleList(layers)
        self.norm = norm or nn.Identity()

    def forward(
        self,
        x: Float[Tensor, "*batch length d_model"],
        mask: Mask = None,
        caches: Sequence[KeyValueCache | None] | None = None,
        *,
        is_causal: bool = False,
    ) -> Float[Tensor, "*batch length d_model"]:
        """Return the tokens in their context; a cache for each layer."""
        caches = per_layer(caches, len(self.layers))
        for layer, cache in zip(self.layers, caches, strict=True):
            x = layer(x, mask, cache, is_causal=is_causal)
        return self.norm(x)


class SwiGLU(nn.Module):
    """A feed-forward network whose middle is gated: (SiLU(xW) ∘ xV) W_2.

    Args:
        d_model: Width of input and output.
        d_ff: Width in the middle; 8/3 d_model has as many parameters as a
            FeedForward of 4 d_model, biases aside.

    Source: Shazeer (2020), §2, eq. 6.
    """

    def __init__(self, d_model: int, d_ff: int) -> None:
        super().__init__()
        check_size("d_ff", d_ff)
        self.up_proj = nn.Linear(d_model, 2 * d_ff, bias=False)  # W beside V
        self.down_proj = nn.Linear(d_ff, d_model, bias=False)

    def forward(
        self, x: Float[Tensor, "*batch d_model"]
    ) -> Float[Tensor, "*batch d_model"]:
        """Apply the network to each token."""
        gate, content = self.up_proj(x).chunk(2, dim=-1)
        return self.down_proj(F.silu(gate) * content)
