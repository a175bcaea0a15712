# Made from docs/attention/positions.md (47caa9dfd40f). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""Positions. Explained in the chapter "Positional encoding"."""

from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from attention_book._checks import (
    check_inputs,
    check_number,
    check_size,
    check_vectors,
    is_readable,
)
from attention_book.attention.caches import KeyValue, Offset
from attention_book.attention.multi_head import MultiHeadAttention


__all__ = [
    "ALiBiAttention",
    "LearnedPositions",
    "RotaryAttention",
    "RotaryEmbedding",
    "SinusoidalPositions",
]


def _position_angles(
    x: Float[Tensor, "*batch length width"], offset: Offset, base: float
) -> Float[Tensor, "length pairs"]:
    """The angle of each pair of features at each position of x.

    Pair i turns by base^(-2i/width) radians a position. In fp32 at least: half
    precision can't tell 2,049 from 2,048.
    """
    length, width = x.shape[-2:]
    dtype = torch.promote_types(x.dtype, torch.float32)
    features = torch.arange(0, width, 2, device=x.device).to(dtype)
    positions = torch.arange(length, device=x.device) + offset
    return positions[:, None] * base ** (-features / width)


class SinusoidalPositions(nn.Module):
    """Add sines and cosines of the position to the token vectors.

    Args:
        d_model: Width of the vectors; even.

    Source: Vaswani et al. (2017), §3.5.
    """

    def __init__(self, d_model: int) -> None:
        super().__init__()
        check_size("d_model", d_model, even=True)
        self.d_model = d_model

    def forward(
        self, x: Float[Tensor, "*batch length d_model"], offset: Offset = 0
    ) -> Float[Tensor, "*batch length d_model"]:
        """Return x plus the encoding; offset is the first token's position."""
        check_vectors(x, self.d_model, offset)
        angles = _position_angles(x, offset, 10_000.0)
        pairs = torch.stack([angles.sin(), angles.cos()], dim=-1)
        return x + pairs.flatten(-2).to(x.dtype)  # sin, cos, sin, cos, …


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
        check_size("n_positions", n_positions)
        check_size("d_model", d_model)
        table = torch.empty(n_positions, d_model)
        self.table = nn.Parameter(nn.init.normal_(table, std=0.02))

    def forward(
        self, x: Float[Tensor, "*batch length d_model"], offset: Offset = 0
    ) -> Float[Tensor, "*batch length d_model"]:
        """Return x plus the vectors; offset is the first token's position.

        Raises:
            ValueError: A position outside the table, where it is readable.
        """
        n_positions, d_model = self.table.shape
        check_vectors(x, d_model, offset)
        length = x.shape[-2]
        if is_readable(offset) and not 0 <= offset <= n_positions - length:
            raise ValueError(
                f"positions must be from 0 to {n_positions - 1}, "
                f"got {int(offset)} to {int(offset) + length - 1}"
            )
        positions = torch.arange(length, device=x.device) + offset
        return x + self.table.index_select(0, positions).to(x.dtype)


class RotaryEmbedding(nn.Module):
    """Rotate each pair of features by an angle that grows with the position.

    Features 2i and 2i + 1 are a pair, as in the paper. Some libraries pair
    i with i + d_k/2; their weights need their rows in another order.

    Args:
        d_k: Width of each query and key; even.
        base: Pair i has a wavelength of 2π·base^(2i/d_k) positions.

    Source: Su et al. (2021), §3.2.2 and §3.4.2, eq. 34.
    """

    def __init__(self, d_k: int, base: float = 10_000.0) -> None:
        super().__init__()
        check_size("d_k", d_k, even=True)
        check_number("base", base, positive=True)
        self.d_k = d_k
        self.base = base

    def angles(self, x: Tensor, offset: Offset) -> Tensor:
        """By how much each pair is rotated: (length, pairs)."""
        return _position_angles(x, offset, self.base)

    def forward(
        self, x: Float[Tensor, "*batch length d_k"], offset: Offset = 0
    ) -> Float[Tensor, "*batch length d_k"]:
        """Return x rotated; half precision is rounded once, at the end."""
        check_vectors(x, self.d_k, offset)
        angles = self.angles(x, offset)
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

    def queries(self, x: Tensor, offset: Offset = 0) -> Tensor:
        """Queries of all heads, rotated."""
        return self.rotary(super().queries(x, offset), offset)

    def keys_and_values(self, memory: Tensor, offset: Offset = 0) -> KeyValue:
        """Keys, rotated, and values of all heads."""
        key, value = super().keys_and_values(memory, offset)
        return KeyValue(self.rotary(key, offset), value)


class ALiBiAttention(MultiHeadAttention):
    """Multi-head self-attention with a penalty for distance.

    Takes the arguments of MultiHeadAttention. Head h of n has the slope
    2^(-8h/n), for any n; the paper's code has another rule unless n is a
    power of 2. Tokens ahead, where seen, count by their distance too, so that
    only is_causal tells a sentence from its reverse.

    Source: Press et al. (2022), §3, for causal attention.
    """

    @property
    def slopes(self) -> Float[Tensor, " heads"]:
        """Of each head, in fp32; computed, so that no load can miss them."""
        device = self.q_proj.weight.device
        heads = torch.arange(1, self.n_heads + 1, device=device).float()
        return 2.0 ** (-8 * heads / self.n_heads)

    def bias(
        self, n_queries: int, n_keys: int
    ) -> Float[Tensor, "heads {n_queries} {n_keys}"]:
        """The table, in fp32; the last query stands at the last key."""
        slopes = self.slopes[:, None, None]
        j = torch.arange(n_keys, device=slopes.device)
        i = torch.arange(n_keys - n_queries, n_keys, device=slopes.device)
        return -slopes * (i[:, None] - j).abs().float()

    def attend(
        self, query: Tensor, kv: KeyValue, mask: Tensor | None, is_causal: bool
    ) -> Tensor:
        """Attend with every head; causally, without the table."""
        if is_causal and query.shape[-2] > 1:
            query, kv = self._add_positions(query, kv)
            return super().attend(query, kv, mask, True)[..., :-2]
        grouped = self.n_heads != self.n_kv_heads
        rate = self.dropout if self.training else 0.0
        check_inputs(query, *kv, mask, enable_gqa=grouped)
        bias = self.bias(query.shape[-2], kv.key.shape[-2])
        if mask is not None:
            bias = bias.masked_fill(~mask, -torch.inf)
        return F.scaled_dot_product_attention(
            query, *kv, bias.to(query.dtype), rate, enable_gqa=grouped
        )

    def _add_positions(
        self, query: Tensor, kv: KeyValue
    ) -> tuple[Tensor, KeyValue]:
        """Give heads two features, by which scores grow by slope times j.

        A multiple of 256 and a remainder hold j in bf16 exactly.
        """
        key, value = kv
        j = torch.arange(key.shape[-2], device=key.device)
        parts = torch.stack([j - j % 256, j % 256], dim=-1).to(key.dtype)
        key = torch.cat([key, parts.expand(*key.shape[:-1], 2)], dim=-1)
        root = key.shape[-1] ** 0.5  # what scores are divided by
        slopes = (self.slopes * root).to(query)[:, None, None]
        slopes = slopes.expand(*query.shape[:-1], 2)
        query = query * (root / self.d_k**0.5)
        query = torch.cat([query, slopes], dim=-1)
        return query, KeyValue(key, F.pad(value, (0, 2)))
