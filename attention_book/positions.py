# Made from docs/chapters/06-positions.md (f6424b2153ab). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from attention_book.caches import KeyValue, Position
from attention_book.checks import (
    check_even,
    check_inputs,
    check_mask,
    check_vectors,
    is_readable,
)
from attention_book.multi_head import MultiHeadAttention
from attention_book.scoring import causal_mask


__all__ = [
    "ALiBi",
    "ALiBiAttention",
    "LearnedPositions",
    "RotaryAttention",
    "RotaryEmbedding",
    "SinusoidalPositions",
    "position_angles",
]


def position_angles(
    x: Float[Tensor, "*batch length width"], offset: Position, base: float
) -> Float[Tensor, "length clocks"]:
    """How far each clock has turned at the position of each token of x.

    Clock i turns by base^(-2i/width) radians a step. Always in fp32: half
    precision can't tell 2,049 from 2,048.
    """
    length, width = x.shape[-2:]
    clocks = torch.arange(0, width, 2, device=x.device).float()
    positions = torch.arange(length, device=x.device) + offset
    return positions[:, None] * base ** (-clocks / width)


class SinusoidalPositions(nn.Module):
    """Add sines and cosines of the position to the token vectors.

    Args:
        d_model: Width of the vectors; even.

    Source: Vaswani et al. (2017), §3.5.
    """

    def __init__(self, d_model: int) -> None:
        super().__init__()
        check_even("d_model", d_model)
        self.d_model = d_model

    def forward(
        self, x: Float[Tensor, "*batch length d_model"], offset: Position = 0
    ) -> Float[Tensor, "*batch length d_model"]:
        """Return x plus the encoding; its first token stands at position offset."""
        check_vectors(x, self.d_model)
        angles = position_angles(x, offset, 10_000.0)
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
        self, x: Float[Tensor, "*batch length d_model"], offset: Position = 0
    ) -> Float[Tensor, "*batch length d_model"]:
        """Return x plus the vectors; its first token stands at position offset.

        Raises:
            ValueError: A token stands outside the table.
        """
        n_positions, d_model = self.table.shape
        check_vectors(x, d_model)
        length = x.shape[-2]
        readable = isinstance(offset, int) or is_readable(offset)
        if readable and not 0 <= offset <= n_positions - length:
            raise ValueError(
                f"positions must be from 0 to {n_positions - 1}, "
                f"got {int(offset)} to {int(offset) + length - 1}"
            )
        positions = torch.arange(length, device=x.device) + offset
        return x + self.table.index_select(0, positions)


class RotaryEmbedding(nn.Module):
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
        self.d_k = d_k
        self.base = base

    def forward(
        self, x: Float[Tensor, "*batch length d_k"], offset: Position = 0
    ) -> Float[Tensor, "*batch length d_k"]:
        """Return x rotated; its first row stands at position offset.

        Half precision is rounded once, at the end.
        """
        check_vectors(x, self.d_k)
        angles = position_angles(x, offset, self.base)
        cos = angles.cos()
        sin = angles.sin()
        even = x[..., 0::2]
        odd = x[..., 1::2]
        rotated = [even * cos - odd * sin, even * sin + odd * cos]
        return torch.stack(rotated, dim=-1).flatten(-2).to(x.dtype)


class RotaryAttention(MultiHeadAttention):
    """Multi-head self-attention whose queries and keys are rotated.

    Takes the arguments of MultiHeadAttention.
    """

    def __init__(self, d_model: int, n_heads: int, **options: Any) -> None:
        super().__init__(d_model, n_heads, **options)
        self.rotary = RotaryEmbedding(self.d_k)

    def queries(self, x: Tensor, offset: Position = 0) -> Tensor:
        """Queries of all heads, rotated; offset is the position of the first."""
        return self.rotary(super().queries(x, offset), offset)

    def keys_and_values(
        self, memory: Tensor, offset: Position = 0
    ) -> KeyValue:
        """Keys, rotated, and values of all heads; offset as in queries."""
        key, value = super().keys_and_values(memory, offset)
        return KeyValue(self.rotary(key, offset), value)


class ALiBi(nn.Module):
    """What to add to the scores: minus the distance, times a slope a head.

    Args:
        n_heads: Number of heads. Head h of n has the slope 2^(-8h/n), for
            any n; the paper's code has another rule unless n is a power of 2.

    Source: Press et al. (2022), §3, where nobody looks ahead; here tokens
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
        self, query: Tensor, kv: KeyValue, mask: Tensor | None, is_causal: bool
    ) -> Tensor:
        """Attend with every head; the values may have any width."""
        grouped = self.n_heads != self.n_kv_heads
        check_inputs(query, *kv, enable_gqa=grouped)
        queries = query.shape[-2]
        keys = kv.key.shape[-2]
        bias = self.alibi(queries, keys)
        if mask is not None:
            check_mask(mask, (*query.shape[:-1], keys))
            bias = bias.masked_fill(~mask, -torch.inf)
        if is_causal:
            causal = causal_mask(queries, keys, device=query.device)
            bias = bias.masked_fill(~causal, -torch.inf)
        rate = self.dropout if self.training else 0.0
        return F.scaled_dot_product_attention(
            query, *kv, attn_mask=bias, dropout_p=rate, enable_gqa=grouped
        )
