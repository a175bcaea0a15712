# Made from docs/source/layers.md (f4f5aaa87dee). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
from collections.abc import Callable, Iterable, Sequence

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from attention_book._checks import (
    check_layer_input,
    check_positive,
    check_rate,
    check_size,
)
from attention_book.attention.caches import KeyValueCache
from attention_book.attention.multi_head import MultiHeadAttention
from attention_book.attention.packed import Mask


__all__ = [
    "Encoder",
    "EncoderLayer",
    "FeedForward",
    "PostNorm",
    "PreNorm",
    "SwiGLU",
]


def _check_sizes(d_model: int, d_ff: int, dropout: float) -> None:
    """Raise ValueError unless a network can have these."""
    check_size("d_model", d_model)
    check_size("d_ff", d_ff)
    check_rate("dropout", dropout)


class FeedForward(nn.Module):
    """Two linear layers with an activation between, for each token alone.

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
        _check_sizes(d_model, d_ff, dropout)
        self.up_proj = nn.Linear(d_model, d_ff)
        self.down_proj = nn.Linear(d_ff, d_model)
        self.activation = activation
        self.dropout = nn.Dropout(dropout)

    def forward(
        self, x: Float[Tensor, "*batch d_model"]
    ) -> Float[Tensor, "*batch d_model"]:
        """Apply the network to each token."""
        check_layer_input("x", x, self.up_proj.weight)
        middle = self.activation(self.up_proj(x))
        return self.down_proj(self.dropout(middle))


class SwiGLU(nn.Module):
    """A feed-forward network whose middle is gated: (SiLU(xW) ∘ xV) W_2.

    Args:
        d_model: Width of input and output.
        d_ff: Width in the middle; 8/3 d_model has as many parameters as a
            FeedForward of 4 d_model, biases aside.
        dropout: Dropout rate of the middle; not in eq. 6.

    Source: Shazeer (2020), §2, eq. 6.
    """

    def __init__(
        self, d_model: int, d_ff: int, *, dropout: float = 0.0
    ) -> None:
        super().__init__()
        _check_sizes(d_model, d_ff, dropout)
        self.up_proj = nn.Linear(d_model, 2 * d_ff, bias=False)
        self.down_proj = nn.Linear(d_ff, d_model, bias=False)
        self.dropout = nn.Dropout(dropout)

    def forward(
        self, x: Float[Tensor, "*batch d_model"]
    ) -> Float[Tensor, "*batch d_model"]:
        """Apply the network to each token."""
        check_layer_input("x", x, self.up_proj.weight)
        gate, content = self.up_proj(x).chunk(2, dim=-1)
        return self.down_proj(self.dropout(F.silu(gate) * content))


class PostNorm(nn.Module):
    """Residual connection, then layer normalisation: LayerNorm(x + f(x)).

    Args:
        d_model: Width of the token vectors.
        dropout: Dropout rate of f(x).
        eps: What the normalisation adds to the variance.

    Source: Vaswani et al. (2017), §3.1 and §5.4.
    """

    def __init__(
        self, d_model: int, dropout: float = 0.0, *, eps: float = 1e-5
    ) -> None:
        super().__init__()
        check_size("d_model", d_model)
        check_rate("dropout", dropout)
        check_positive("eps", eps)
        self.norm = nn.LayerNorm(d_model, eps=eps)
        self.dropout = nn.Dropout(dropout)

    def forward(
        self, x: Tensor, sublayer: Callable[[Tensor], Tensor]
    ) -> Tensor:
        """Return LayerNorm(x + sublayer(x))."""
        check_layer_input("x", x, self.norm.weight)
        return self.norm(x + self.dropout(sublayer(x)))


class PreNorm(PostNorm):
    """Layer normalisation first: x + f(LayerNorm(x)); else as PostNorm.

    Source: Xiong et al. (2020), figure 1.
    """

    def forward(
        self, x: Tensor, sublayer: Callable[[Tensor], Tensor]
    ) -> Tensor:
        """Return x + sublayer(LayerNorm(x))."""
        check_layer_input("x", x, self.norm.weight)
        return x + self.dropout(sublayer(self.norm(x)))


class EncoderLayer(nn.Module):
    """Self-attention, then a feed-forward network, each with its residual.

    Args:
        self_attention: The first sublayer.
        feed_forward: The second sublayer.
        residuals: The residual connection around each: PostNorm or PreNorm.

    Source: Vaswani et al. (2017), §3.1 and figure 1, left.
    """

    def __init__(
        self,
        self_attention: MultiHeadAttention,
        feed_forward: nn.Module,
        residuals: tuple[PostNorm, PostNorm],
    ) -> None:
        super().__init__()
        self.self_attention = self_attention
        self.feed_forward = feed_forward
        self.residuals = nn.ModuleList(residuals)

    def forward(
        self,
        x: Float[Tensor, "*batch length d_model"],
        mask: Mask = None,
        cache: KeyValueCache | None = None,
        *,
        is_causal: bool = False,
    ) -> Float[Tensor, "*batch length d_model"]:
        """Return the tokens in their context; all else as attention takes."""
        attention_residual, feed_forward_residual = self.residuals
        x = attention_residual(
            x,
            lambda y: self.self_attention(
                y, mask=mask, is_causal=is_causal, cache=cache
            ),
        )
        return feed_forward_residual(x, self.feed_forward)


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
        """Return the tokens in their context; mask as attention takes it.

        Raises:
            ValueError: Not one cache for each layer.
        """
        n = len(self.layers)
        caches = [None] * n if caches is None else caches
        if len(caches) != n:
            raise ValueError(
                f"caches must be one for each of {n} layers, got {len(caches)}"
            )
        for layer, cache in zip(self.layers, caches, strict=True):
            x = layer(x, mask, cache, is_causal=is_causal)
        return self.norm(x)
