# Made from docs/attention/scoring.md (a91f45ae2290). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""Scores, masks and weights. Explained in the chapter "Scoring functions"."""

import math

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from attention_book._checks import (
    check_inputs,
    check_lengths,
    check_mask,
    check_size,
)


__all__ = [
    "AdditiveAttention",
    "causal_mask",
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

    The last query stands at the last key; n_keys is n_queries by default.

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

    Raises:
        ValueError: A length is no whole number from 0 to n_keys. On a GPU
            the range is not checked, because reading it would have to wait.
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
        mask: True = may attend; broadcasts to the shape of scores.

    Returns:
        Weights of the same shape. Each row sums to 1, and masked keys weigh
        exactly 0. A row whose every key is masked is all zeros.
    """
    if mask is None:
        return scores.softmax(dim=-1)
    check_mask(mask, scores.shape)
    lowest = torch.finfo(scores.dtype).min
    weights = scores.masked_fill(~mask, lowest).softmax(dim=-1)
    return weights.masked_fill(~mask, 0.0)


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

    Source: Vaswani et al. (2017), §3.2.1, eq. 1.
    """
    check_inputs(query, key, value)
    scale = 1 / math.sqrt(query.shape[-1])
    scores = (query * scale) @ key.mT  # (*batch, queries, keys)
    weights = masked_softmax(scores, mask)
    return weights @ value, weights


class AdditiveAttention(nn.Module):
    """Attention scored by a small network: v_aᵀ tanh(W_q q + W_k k + b).

    Args:
        d_query: Width of the queries.
        d_key: Width of the keys.
        d_attn: Width d_a of the hidden layer.

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
        """Return the output, one row for each query, and the weights."""
        check_inputs(query, key, value)
        q = self.q_proj(query).unsqueeze(-2)  # (*batch, queries, 1, d_a)
        k = self.k_proj(key).unsqueeze(-3)  # (*batch, 1, keys, d_a)
        scores = self.score(torch.tanh(q + k)).squeeze(-1)
        weights = masked_softmax(scores, mask)
        return weights @ value, weights
