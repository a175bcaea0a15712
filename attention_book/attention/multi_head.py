# Made from docs/attention/multi-head.md (b5f2ddb5cf23). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""Multi-head attention. Explained in the chapter "Multi-head attention"."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from attention_book._checks import check_head_mask, check_heads, check_rate
from attention_book.attention.caches import KeyValue, KeyValueCache, Offset
from attention_book.attention.fused import fused_attention
from attention_book.attention.packed import Mask, PackedLayout, attend_packed


__all__ = [
    "MultiHeadAttention",
    "attention_weights",
    "merge_heads",
    "split_heads",
]


def split_heads(
    x: Float[Tensor, "*batch length width"], n_heads: int
) -> Float[Tensor, "*batch {n_heads} length d_k"]:
    """Cut each token's vector into heads, and move these before the tokens."""
    x = x.view(*x.shape[:-1], n_heads, x.shape[-1] // n_heads)
    return x.transpose(-3, -2)


def merge_heads(
    x: Float[Tensor, "*batch heads length d_k"],
) -> Float[Tensor, "*batch length width"]:
    """Undo split_heads."""
    return x.transpose(-3, -2).flatten(-2)


class MultiHeadAttention(nn.Module):
    """Multi-head attention: Concat(head_1, …, head_h) W^O.

    Args:
        d_model: Width of inputs and output.
        n_heads: Number of heads; divides d_model.
        n_kv_heads: Heads of keys and values; divides n_heads, its default.
        bias: Whether the projections add a bias.
        dropout: Dropout rate of the attention weights; 0 is fastest.

    Source: Vaswani et al. (2017), §3.2.2; Ainslie et al. (2023), §2.2.
    """

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        *,
        n_kv_heads: int | None = None,
        bias: bool = True,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        n_kv_heads = n_heads if n_kv_heads is None else n_kv_heads
        check_heads(d_model, n_heads, n_kv_heads)
        check_rate("dropout", dropout)
        self.d_model = d_model
        self.n_heads = n_heads
        self.n_kv_heads = n_kv_heads
        self.d_k = d_model // n_heads
        self.dropout = dropout
        d_kv = n_kv_heads * self.d_k
        self.q_proj = nn.Linear(d_model, d_model, bias=bias)
        self.kv_proj = nn.Linear(d_model, 2 * d_kv, bias=bias)
        self.out_proj = nn.Linear(d_model, d_model, bias=bias)

    def queries(self, x: Tensor, offset: Offset = 0) -> Tensor:
        """Queries of all heads; offset is the position of the first token."""
        return split_heads(self.q_proj(x), self.n_heads)

    def keys_and_values(self, memory: Tensor, offset: Offset = 0) -> KeyValue:
        """Keys and values of all heads; offset as in queries."""
        both = self.kv_proj(memory).chunk(2, dim=-1)
        return KeyValue(*(split_heads(x, self.n_kv_heads) for x in both))

    def attend(
        self, query: Tensor, kv: KeyValue, mask: Tensor | None, is_causal: bool
    ) -> Tensor:
        """Attend with every head; the values may have any width."""
        return fused_attention(
            query,
            *kv,
            mask,
            is_causal=is_causal,
            dropout=self.dropout if self.training else 0.0,
            enable_gqa=self.n_heads != self.n_kv_heads,
        )

    def forward(
        self,
        x: Float[Tensor, "*batch queries d_model"],
        memory: Float[Tensor, "*batch keys d_model"] | KeyValue | None = None,
        mask: Mask = None,
        *,
        is_causal: bool = False,
        cache: KeyValueCache | None = None,
    ) -> Float[Tensor, "*batch queries d_model"]:
        """Let each row of x attend to memory, or to x and what cache holds.

        mask (True = may attend) broadcasts to (*batch, heads, queries, keys);
        is_causal hides the future too.
        """
        check_head_mask(x, mask)
        offset = 0 if cache is None else cache.length
        query = self.queries(x, offset)
        if isinstance(memory, KeyValue):
            kv = memory
        else:
            kv = self.keys_and_values(x if memory is None else memory, offset)
        if cache is not None:
            kv = cache.append(*kv)
        if isinstance(mask, PackedLayout):
            heads = attend_packed(self.attend, query, kv, mask, is_causal)
        else:
            heads = self.attend(query, kv, mask, is_causal)
        return self.out_proj(merge_heads(heads))


def attention_weights(
    attention: MultiHeadAttention,
    x: Float[Tensor, "*batch queries d_model"],
    memory: Float[Tensor, "*batch keys d_model"] | None = None,
    mask: Bool[Tensor, "..."] | None = None,
    *,
    is_causal: bool = False,
) -> Float[Tensor, "*batch heads queries keys"]:
    """Return how much each query of each head attends to each key.

    Rows sum to 1, or to 0 where everything is hidden; in training mode they
    are what dropout leaves. Arguments are those of the layer.
    """
    check_head_mask(x, mask)
    key, _ = attention.keys_and_values(x if memory is None else memory)
    identity = torch.eye(key.shape[-2], dtype=key.dtype, device=key.device)
    kv = KeyValue(key, identity.expand(*key.shape[:-1], -1))
    return attention.attend(attention.queries(x), kv, mask, is_causal)
