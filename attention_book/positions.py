# Made from docs/chapters/06-positions.md (daf77a7b0055). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from attention_book.multi_head import KeyValue, MultiHeadAttention, Place
from attention_book.scoring import (
    causal_mask,
    check_inputs,
    check_mask,
    check_width,
)


def check_even(name: str, width: int) -> None:
    """Raise ValueError unless the width is a whole number of pairs."""
    if width < 2 or width % 2:
        raise ValueError(f"{name} must be even and positive, got {width}")


def check_words(x: Tensor, width: int) -> None:
    """Raise ValueError unless x holds words, as vectors of that width."""
    check_width("x", x, width)
    if x.ndim < 2 or not x.is_floating_point():
        raise ValueError(
            f"x must be a floating-point tensor (..., words, {width}), "
            f"got {x.dtype} of shape {tuple(x.shape)}"
        )


def clock_angles(
    x: Float[Tensor, "*batch words width"], start: Place, base: float
) -> Float[Tensor, "words clocks"]:
    """How far each clock has turned at the position of each word of x.

    Clock i turns by base^(-2i/width) radians a step. Always in fp32: half
    precision can't tell 2,049 from 2,048.
    """
    words, width = x.shape[-2:]
    clocks = torch.arange(0, width, 2, device=x.device).float()
    positions = torch.arange(words, device=x.device) + start
    return positions[:, None] * base ** (-clocks / width)


class SinusoidalPositions(nn.Module):
    """Add sines and cosines of the position to the word vectors.

    Args:
        d_model: Width of the vectors; even.

    Source: Vaswani et al. (2017), §3.5.
    """

    def __init__(self, d_model: int) -> None:
        super().__init__()
        check_even("d_model", d_model)
        self.d_model = d_model

    def forward(
        self, x: Float[Tensor, "*batch words d_model"], start: Place = 0
    ) -> Float[Tensor, "*batch words d_model"]:
        """Return x plus the encoding; its first word stands at start."""
        check_words(x, self.d_model)
        angles = clock_angles(x, start, 10_000.0)
        pairs = torch.stack([angles.sin(), angles.cos()], dim=-1)
        return x + pairs.flatten(-2).to(x.dtype)


class LearnedPositions(nn.Module):
    """Add a learnt vector for each position.

    Args:
        n_positions: How many positions there are vectors for. They begin as
            noise of standard deviation 0.02.
        d_model: Width of the vectors.

    Source: Gehring et al. (2017), §3.1.
    """

    def __init__(self, n_positions: int, d_model: int) -> None:
        super().__init__()
        self.table = nn.Parameter(0.02 * torch.randn(n_positions, d_model))

    def forward(
        self, x: Float[Tensor, "*batch words d_model"], start: Place = 0
    ) -> Float[Tensor, "*batch words d_model"]:
        """Return x plus the vectors; its first word stands at start.

        Raises:
            ValueError: A word stands outside the table.
        """
        n_positions, d_model = self.table.shape
        check_words(x, d_model)
        words = x.shape[-2]
        if isinstance(start, int) and not 0 <= start <= n_positions - words:
            raise ValueError(
                f"positions must be from 0 to {n_positions - 1}, "
                f"got {start} to {start + words - 1}"
            )
        places = torch.arange(words, device=x.device) + start
        return x + self.table.index_select(0, places)


class Rotary(nn.Module):
    """Turn each pair of features by an angle that grows with the position.

    Features 2i and 2i + 1 are a pair, as in the paper. Some libraries pair
    i with i + d_k/2; their weights need their rows in another order.

    Args:
        d_k: Width of each query and key; even.
        base: Clock i takes 2π·base^(2i/d_k) steps a round.

    Source: Su et al. (2021), §3.2.2 and §3.4.2, eq. 34.
    """

    def __init__(self, d_k: int, base: float = 10_000.0) -> None:
        super().__init__()
        check_even("d_k", d_k)
        self.d_k, self.base = d_k, base

    def forward(
        self, x: Float[Tensor, "*batch words d_k"], start: Place = 0
    ) -> Float[Tensor, "*batch words d_k"]:
        """Return x turned; its first row stands at position start.

        Half precision is rounded once, at the end.
        """
        check_words(x, self.d_k)
        angles = clock_angles(x, start, self.base)
        cos, sin = angles.cos(), angles.sin()
        even, odd = x[..., 0::2], x[..., 1::2]
        turned = [even * cos - odd * sin, even * sin + odd * cos]
        return torch.stack(turned, dim=-1).flatten(-2).to(x.dtype)


class RotaryAttention(MultiHeadAttention):
    """Multi-head self-attention whose queries and keys are turned.

    Takes the arguments of MultiHeadAttention.
    """

    def __init__(self, d_model: int, n_heads: int, **options: Any) -> None:
        super().__init__(d_model, n_heads, **options)
        self.rotary = Rotary(self.d_k)

    def queries(self, x: Tensor, start: Place = 0) -> Tensor:
        """Queries of all heads, turned; start is the place of the first."""
        turned: Tensor = self.rotary(super().queries(x, start), start)
        return turned

    def keys_and_values(self, memory: Tensor, start: Place = 0) -> KeyValue:
        """Keys, turned, and values of all heads; start as in queries."""
        key, value = super().keys_and_values(memory, start)
        return KeyValue(self.rotary(key, start), value)


class ALiBi(nn.Module):
    """What to add to the scores: minus the distance, times a slope a head.

    Args:
        n_heads: Number of heads. Head h of n has the slope 2^(-8h/n), for
            any n; the paper's code has another rule unless n is a power of 2.

    Source: Press et al. (2022), §3, where nobody looks ahead; here words
    ahead count by their distance too.
    """

    slopes: Tensor  # (heads,)

    def __init__(self, n_heads: int) -> None:
        super().__init__()
        slopes = 2.0 ** (-8 * torch.arange(1, n_heads + 1) / n_heads)
        self.register_buffer("slopes", slopes, persistent=False)

    def forward(
        self, n_queries: int, n_keys: int
    ) -> Float[Tensor, "heads {n_queries} {n_keys}"]:
        """Return the bias; the last query stands at the last key."""
        device = self.slopes.device
        key = torch.arange(n_keys, device=device)
        query = torch.arange(n_keys - n_queries, n_keys, device=device)
        return -self.slopes[:, None, None] * (query[:, None] - key).abs()


class ALiBiAttention(MultiHeadAttention):
    """Multi-head self-attention with a penalty for distance.

    Takes the arguments of MultiHeadAttention.
    """

    def __init__(self, d_model: int, n_heads: int, **options: Any) -> None:
        super().__init__(d_model, n_heads, **options)
        self.alibi = ALiBi(n_heads)

    def attend(
        self, q: Tensor, kv: KeyValue, mask: Tensor | None, is_causal: bool
    ) -> Tensor:
        """Attend with every head; the values may have any width."""
        check_inputs(q, *kv, grouped=True)
        queries, keys = q.shape[-2], kv.key.shape[-2]
        bias = self.alibi(queries, keys)
        if mask is not None:
            check_mask(mask, (*q.shape[:-1], keys))
            bias = bias.masked_fill(~mask, -torch.inf)
        if is_causal:
            causal = causal_mask(queries, keys, device=q.device)
            bias = bias.masked_fill(~causal, -torch.inf)
        rate = self.dropout if self.training else 0.0
        grouped = self.n_heads != self.n_kv_heads
        return F.scaled_dot_product_attention(
            q, *kv, attn_mask=bias, dropout_p=rate, enable_gqa=grouped
        )
