# Made from docs/fast/flash.md (284dcd444492). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
import math
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from attention_book._checks import (
    check_inputs,
    check_layer_input,
    check_lengths,
    check_mask,
    check_positive,
    check_rate,
    check_size,
    check_tensor,
    check_width,
)


__all__ = [
    "AdditiveAttention",
    "causal_mask",
    "dot_product_attention",
    "fused_attention",
    "masked_softmax",
    "padding_mask",
    "scaled_dot_product_attention",
]


def causal_mask(
    n_queries: int,
    n_keys: int | None = None,
    *,
    device: torch.device | str | None = None,
) -> Bool[Tensor, "queries keys"]:
    """Let each query attend to the keys up to its own position.

    The last query stands at the last key, so that with more keys than
    queries the first keys are a past that every query may attend to.

    Args:
        n_queries: Number of queries.
        n_keys: Number of keys; by default as many as queries.
        device: Where the mask shall lie; by default torch's own default.

    Returns:
        A boolean mask, True = may attend.

    Raises:
        ValueError: A negative number.

    Source: Vaswani et al. (2017), §3.2.3, "masking out".
    """
    n_keys = n_queries if n_keys is None else n_keys
    check_size("n_queries", n_queries, min_size=0)
    check_size("n_keys", n_keys, min_size=0)
    everything = torch.ones(n_queries, n_keys, dtype=torch.bool, device=device)
    return everything.tril(n_keys - n_queries)


def padding_mask(
    lengths: Int[Tensor, " batch"], n_keys: int
) -> Bool[Tensor, "batch 1 1 {n_keys}"]:
    """Let every query attend to the first lengths[b] keys of sequence b.

    Args:
        lengths: How many tokens of each sequence are real.
        n_keys: Number of keys, padding included.

    Returns:
        A boolean mask, True = may attend, that broadcasts to
        (batch, heads, queries, keys). Without an axis of heads, take
        padding_mask(...)[:, 0].

    Raises:
        ValueError: A length is no whole number from 0 to n_keys. On a GPU
            the range is not checked, because reading it would have to wait;
            there a length beyond n_keys is taken for n_keys.
    """
    check_size("n_keys", n_keys, min_size=0)
    check_lengths("lengths", lengths, n_keys, min_length=0)
    positions = torch.arange(n_keys, device=lengths.device)
    return positions < lengths[:, None, None, None]


def masked_softmax(
    scores: Float[Tensor, "*batch queries keys"],
    mask: Bool[Tensor, "..."] | None = None,
) -> Float[Tensor, "*batch queries keys"]:
    """Turn each row of scores into weights over the keys not masked.

    Args:
        scores: Finite numbers, well above the lowest of their dtype.
        mask: True = may attend; broadcasts to the shape of scores. None
            masks nothing.

    Returns:
        Weights of the same shape. Each row sums to 1, and masked keys weigh
        exactly 0. A row whose every key is masked is all zeros.

    Raises:
        ValueError: Scores that are no floating-point tensor, or a mask that
            is not boolean or does not broadcast.
    """
    check_tensor("scores", scores)
    if not scores.ndim or not scores.is_floating_point():
        raise ValueError(
            "scores must be a floating-point tensor (..., keys), got "
            f"{scores.dtype} of shape {tuple(scores.shape)}"
        )
    if mask is None:
        return scores.softmax(dim=-1)
    check_mask(mask, scores.shape)
    lowest = torch.finfo(scores.dtype).min
    weights = scores.masked_fill(~mask, lowest).softmax(dim=-1)
    return weights.masked_fill(~mask, 0.0)


def _attend(
    scores: Float[Tensor, "*batch queries keys"],
    value: Float[Tensor, "*batch keys d_v"],
    mask: Bool[Tensor, "..."] | None = None,
) -> tuple[
    Float[Tensor, "*batch queries d_v"], Float[Tensor, "*batch queries keys"]
]:
    """Return softmax(S)V and the weights softmax(S), under the mask."""
    weights = masked_softmax(scores, mask)
    return weights @ value, weights


def dot_product_attention(
    query: Float[Tensor, "*batch queries d_k"],
    key: Float[Tensor, "*batch keys d_k"],
    value: Float[Tensor, "*batch keys d_v"],
    mask: Bool[Tensor, "..."] | None = None,
) -> tuple[
    Float[Tensor, "*batch queries d_v"], Float[Tensor, "*batch queries keys"]
]:
    """Attention scored by the dot product: softmax(QKᵀ)V.

    Args:
        query: Queries Q.
        key: Keys K, as wide as the queries.
        value: Values V, one row for each key.
        mask: True = may attend; broadcasts to (*batch, queries, keys).

    Returns:
        The output, one row for each query, and the weights.

    Raises:
        ValueError: Shapes or dtypes that do not fit, or a mask that is not
            boolean.

    Source: Luong et al. (2015), §3.1, the score called "dot".
    """
    check_inputs(query, key, value)
    check_width("key", key, query.shape[-1])
    return _attend(query @ key.transpose(-2, -1), value, mask)


def scaled_dot_product_attention(
    query: Float[Tensor, "*batch queries d_k"],
    key: Float[Tensor, "*batch keys d_k"],
    value: Float[Tensor, "*batch keys d_v"],
    mask: Bool[Tensor, "..."] | None = None,
) -> tuple[
    Float[Tensor, "*batch queries d_v"], Float[Tensor, "*batch queries keys"]
]:
    """Scaled dot-product attention, step by step: softmax(QKᵀ/√d_k)V.

    Args:
        query: Queries Q.
        key: Keys K, as wide as the queries.
        value: Values V, one row for each key.
        mask: True = may attend; broadcasts to (*batch, queries, keys).

    Returns:
        The output, one row for each query, and the weights.

    Raises:
        ValueError: Shapes or dtypes that do not fit, or a mask that is not
            boolean.

    Source: Vaswani et al. (2017), §3.2.1, eq. 1.
    """
    check_inputs(query, key, value)
    scale = 1 / math.sqrt(query.shape[-1])
    return dot_product_attention(query * scale, key, value, mask)


class AdditiveAttention(nn.Module):
    """Attention scored by a small network: v_aᵀ tanh(W_q q + W_k k + b).

    Args:
        d_query: Width of the queries.
        d_key: Width of the keys.
        d_attn: Width d_a of the hidden layer.

    Raises:
        ValueError: A width below 1.

    Source: Bahdanau et al. (2015), appendix A.1.2, with a bias b added.
    """

    def __init__(self, *, d_query: int, d_key: int, d_attn: int) -> None:
        super().__init__()
        check_size("d_query", d_query)
        check_size("d_key", d_key)
        check_size("d_attn", d_attn)
        self.q_proj = nn.Linear(d_query, d_attn, bias=False)
        self.k_proj = nn.Linear(d_key, d_attn)
        self.score = nn.Linear(d_attn, 1, bias=False)

    def forward(
        self,
        query: Float[Tensor, "*batch queries d_q"],
        key: Float[Tensor, "*batch keys d_k"],
        value: Float[Tensor, "*batch keys d_v"],
        mask: Bool[Tensor, "..."] | None = None,
    ) -> tuple[
        Float[Tensor, "*batch queries d_v"],
        Float[Tensor, "*batch queries keys"],
    ]:
        """Return the output, one row for each query, and the weights.

        Raises:
            ValueError: Shapes or dtypes that do not fit, or a mask that is
                not boolean.
        """
        check_inputs(query, key, value)
        check_layer_input("query", query, self.q_proj.weight)
        check_layer_input("key", key, self.k_proj.weight)
        q = self.q_proj(query).unsqueeze(-2)  # (*batch, queries, 1, d_a)
        k = self.k_proj(key).unsqueeze(-3)  # (*batch, 1, keys, d_a)
        scores = self.score(torch.tanh(q + k)).squeeze(-1)
        return _attend(scores, value, mask)


_BLOCK_SIZE = 256  # queries


def _causal_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None,
    **options: Any,
) -> Tensor:
    """Let no query see past its own position; mask and options as in SDPA.

    PyTorch's is_causal will do for as many queries as keys and no mask
    besides. A single query stands at the last key and sees all. Else blocks
    of queries get the mask of the keys up to their end, so that no mask is
    square; only a compiler, which can not unroll any length, gets it whole.
    """
    queries = query.shape[-2]
    keys = key.shape[-2]
    attend = F.scaled_dot_product_attention
    if queries == 1:
        return attend(query, key, value, mask, **options)
    if mask is None and queries == keys:
        return attend(query, key, value, is_causal=True, **options)
    whole = torch.compiler.is_compiling() or (
        queries <= _BLOCK_SIZE or queries > keys
    )
    starts = [0] if whole else range(0, queries, _BLOCK_SIZE)
    outputs = []
    for start in starts:
        end = queries if whole else min(start + _BLOCK_SIZE, queries)
        seen = end + keys - queries
        block = causal_mask(end - start, seen, device=query.device)
        if mask is not None:
            rows = mask if mask.shape[-2] == 1 else mask[..., start:end, :]
            block = block & rows[..., :seen]
        output = attend(
            query[..., start:end, :],
            key[..., :seen, :],
            value[..., :seen, :],
            block,
            **options,
        )
        outputs.append(output)
    return outputs[0] if len(outputs) == 1 else torch.cat(outputs, dim=-2)


def fused_attention(
    query: Float[Tensor, "*batch queries d_k"],
    key: Float[Tensor, "*groups keys d_k"],
    value: Float[Tensor, "*groups keys d_v"],
    mask: Bool[Tensor, "..."] | None = None,
    *,
    is_causal: bool = False,
    dropout: float = 0.0,
    enable_gqa: bool = False,
    scale: float | None = None,
) -> Float[Tensor, "*batch queries d_v"]:
    """Scaled dot-product attention without the matrix of scores.

    PyTorch fuses it with up to two batch axes; on the CPU where d_v = d_k.
    On CUDA call it within compute_context, which keeps cuDNN's kernel out.

    Args:
        query: Queries Q.
        key: Keys K, as wide as the queries.
        value: Values V, one row for each key.
        mask: True = may attend; broadcasts to (*batch, queries, keys).
        is_causal: Mask the future too, as causal_mask does.
        dropout: Dropout rate of the weights; not fused on the CPU.
        enable_gqa: Grouped-query attention: let there be fewer heads of keys
            than of queries, each for as many heads of queries in a row.
        scale: Factor of the scores; by default 1/√d_k.

    Returns:
        The output, one row for each query.

    Raises:
        ValueError: Shapes or dtypes that do not fit, a mask that is not
            boolean, a rate outside [0, 1), a scale that is not positive.

    Source: Dao et al. (2022), §3.1, algorithm 1.
    """
    check_inputs(query, key, value, enable_gqa=enable_gqa)
    check_width("key", key, query.shape[-1])
    check_rate("dropout", dropout)
    if scale is not None:
        check_positive("scale", scale)
    if mask is not None:
        check_mask(mask, (*query.shape[:-1], key.shape[-2]))
        mask = mask if mask.ndim > 1 else mask.expand(1, key.shape[-2])
    if missing := (None,) * (4 - query.ndim):  # the kernels want four axes
        query = query[missing]
        key = key[missing]
        value = value[missing]
    attend = _causal_attention if is_causal else F.scaled_dot_product_attention
    output = attend(
        query,
        key,
        value,
        mask,
        dropout_p=dropout,
        enable_gqa=enable_gqa,
        scale=scale,
    )
    return output[(0,) * len(missing)] if missing else output
