# Made from docs/fast/cache.md (92da77882f71). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from attention_book._checks import (
    check_heads,
    check_layer_input,
    check_rate,
    check_tensor,
    check_whole,
)
from attention_book.attention.caches import (
    KeyValue,
    KeyValueCache,
    Position,
    check_cache,
)
from attention_book.attention.functional import fused_attention
from attention_book.attention.packed import Mask, PackedMask, attend_packed


__all__ = [
    "MultiHeadAttention",
    "attention_weights",
    "join_heads",
    "split_heads",
]


def split_heads(
    x: Float[Tensor, "*batch length width"], n_heads: int
) -> Float[Tensor, "*batch {n_heads} length d_k"]:
    """Cut each token's vector into heads, and move these before the tokens.

    Raises:
        ValueError: x has no axis of tokens, or its width does not divide.
    """
    check_tensor("x", x)
    check_whole("n_heads", n_heads)
    if x.ndim < 2 or n_heads < 1 or x.shape[-1] % n_heads:
        raise ValueError(
            f"x must be (..., length, a multiple of n_heads = {n_heads}), "
            f"got {tuple(x.shape)}"
        )
    d_k = x.shape[-1] // n_heads
    return x.view(*x.shape[:-1], n_heads, d_k).transpose(-3, -2)


def join_heads(
    x: Float[Tensor, "*batch heads length d_k"],
) -> Float[Tensor, "*batch length width"]:
    """Undo split_heads.

    Raises:
        ValueError: x has no axis of heads.
    """
    check_tensor("x", x)
    if x.ndim < 3:
        raise ValueError(
            f"x must be (..., heads, length, d_k), got {tuple(x.shape)}"
        )
    return x.transpose(-3, -2).flatten(-2)


class MultiHeadAttention(nn.Module):
    """Multi-head attention: Concat(head_1, …, head_h) W^O.

    Args:
        d_model: Width of inputs and output.
        n_heads: Number of heads; divides d_model.
        n_kv_heads: Heads of keys and values; divides n_heads, its default.
        bias: Whether the projections add a bias.
        dropout: Dropout rate of the attention weights; 0 is fastest.

    Raises:
        ValueError: Heads that do not divide, a rate outside [0, 1).

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

    def queries(self, x: Tensor, offset: Position = 0) -> Tensor:
        """Queries of all heads; offset is the position of the first row."""
        check_layer_input("x", x, self.q_proj.weight)
        return split_heads(self.q_proj(x), self.n_heads)

    def keys_and_values(
        self, memory: Tensor, offset: Position = 0
    ) -> KeyValue:
        """Keys and values of all heads; offset as in queries."""
        check_layer_input("memory", memory, self.kv_proj.weight)
        key, value = self.kv_proj(memory).chunk(2, dim=-1)
        return KeyValue(
            split_heads(key, self.n_kv_heads),
            split_heads(value, self.n_kv_heads),
        )

    def attend(
        self, query: Tensor, kv: KeyValue, mask: Tensor | None, is_causal: bool
    ) -> Tensor:
        """Attend with every head; the values may have any width."""
        rate = self.dropout if self.training else 0.0
        grouped = self.n_heads != self.n_kv_heads
        return fused_attention(
            query,
            *kv,
            mask,
            is_causal=is_causal,
            dropout=rate,
            enable_gqa=grouped,
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

        Raises:
            ValueError: Shapes, mask or cache do not fit.
        """
        offset: Position = 0
        if cache is not None:
            check_cache(cache, memory, mask, x, self.n_heads)
            offset = cache.length
        query = self.queries(x, offset)
        if isinstance(memory, KeyValue):
            kv = memory
        else:
            kv = self.keys_and_values(x if memory is None else memory, offset)
        if cache is not None:
            kv = cache.append(*kv)
        if isinstance(mask, PackedMask):
            heads = attend_packed(self.attend, query, kv, mask, is_causal)
        else:
            heads = self.attend(query, kv, mask, is_causal)
        return self.out_proj(join_heads(heads))


def attention_weights(
    attention: MultiHeadAttention,
    x: Float[Tensor, "*batch queries d_model"],
    memory: Float[Tensor, "*batch keys d_model"] | None = None,
    mask: Bool[Tensor, "..."] | None = None,
    *,
    is_causal: bool = False,
) -> Float[Tensor, "*batch heads queries keys"]:
    """Return how much each query of each head attends to each key.

    Args:
        attention: The layer whose weights are wanted.
        x: The queries; memory, mask and is_causal as the layer takes them.

    Returns:
        Weights whose rows sum to 1, or to 0 where everything is hidden; in
        training mode, what dropout leaves of them.
    """
    key, _ = attention.keys_and_values(x if memory is None else memory)
    identity = torch.eye(key.shape[-2], dtype=key.dtype, device=key.device)
    kv = KeyValue(key, identity.expand(*key.shape[:-1], -1))
    return attention.attend(attention.queries(x), kv, mask, is_causal)
