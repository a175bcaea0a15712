# Made from docs/fast/many-devices.md (1f36fc99e14e). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""Attention over a sequence that is cut across processes.

Explained in the chapter "Many devices".
"""

import math
from typing import Any

import torch
import torch.distributed as dist
from jaxtyping import Float
from torch import Tensor

from attention_book.attention.caches import KeyValue
from attention_book.attention.functional import causal_mask
from attention_book.attention.multi_head import MultiHeadAttention
from attention_book.attention.pieces import pass_on, pieces


__all__ = ["RingAttention", "ring_attention"]


def _scores(query: Tensor, key: Tensor, is_causal: bool) -> Tensor:
    """Return the scores on a piece, in fp32 at least."""
    scores = (query @ key.mT) / math.sqrt(query.shape[-1])
    if is_causal:
        future = ~causal_mask(*scores.shape[-2:], device=scores.device)
        scores = scores.masked_fill(future, -math.inf)
    return scores.to(torch.promote_types(scores.dtype, torch.float32))


class _RingAttention(torch.autograd.Function):
    """What ring_attention does, and its derivative."""

    @staticmethod
    def forward(
        ctx: Any, query: Tensor, key: Tensor, value: Tensor, is_causal: bool
    ) -> Tensor:
        rank = dist.get_rank()
        output, log_sum = torch.zeros(()), torch.tensor(-math.inf)
        for owner, k, v in pieces(key, value):
            if is_causal and owner > rank:
                continue  # all of it is in the future
            scores = _scores(query, k, is_causal and owner == rank)
            log_new = scores.logsumexp(-1, keepdim=True)
            log_both = torch.logaddexp(log_sum, log_new)
            weights = (scores - log_both).exp().to(v.dtype)
            output = output * (log_sum - log_both).exp() + weights @ v
            log_sum = log_both
        output = output.to(value.dtype)
        ctx.save_for_backward(query, key, value, output, log_sum)
        ctx.is_causal = is_causal
        return output

    @staticmethod
    def backward(ctx: Any, d_output: Tensor) -> tuple[Tensor | None, ...]:
        query, key, value, output, log_sum = ctx.saved_tensors
        rank = dist.get_rank()
        delta = (d_output * output).sum(-1, keepdim=True)
        d_query = torch.zeros_like(query)
        d_k, d_v = torch.zeros_like(key), torch.zeros_like(value)
        for owner, k, v in pieces(key, value):
            if not (ctx.is_causal and owner > rank):
                scores = _scores(query, k, ctx.is_causal and owner == rank)
                weights = (scores - log_sum).exp().to(v.dtype)
                d_scores = weights * (d_output @ v.mT - delta)
                d_scores = d_scores / math.sqrt(query.shape[-1])
                d_query += d_scores @ k
                d_k += (d_scores.mT @ query).sum_to_size(k.shape)
                d_v += (weights.mT @ d_output).sum_to_size(v.shape)
            d_k, d_v = pass_on(d_k, d_v)  # after as many turns they are home
        return d_query, d_k, d_v, None


def ring_attention(
    query: Float[Tensor, "*batch queries d_k"],
    key: Float[Tensor, "*groups keys d_k"],
    value: Float[Tensor, "*groups keys d_v"],
    *,
    is_causal: bool = False,
) -> Float[Tensor, "*batch queries d_v"]:
    """Scaled dot-product attention over a sequence of which this is a piece.

    All processes call it together, each with a piece of the same length, in
    the order of their ranks. Queries stay, keys and values travel.

    Args:
        query: Queries Q of this piece.
        key: Keys K of this piece; an axis of heads may be 1.
        value: Values V of this piece.
        is_causal: Mask the future; wants as many queries as keys.

    Returns:
        The output of this piece's queries over the keys of all pieces.

    Source: Liu et al. (2023), §3.
    """
    if is_causal and query.shape[-2] != key.shape[-2]:
        raise ValueError(
            "is_causal wants as many queries as keys, got "
            f"{query.shape[-2]} and {key.shape[-2]}"
        )
    inputs = query, key, value, is_causal
    return _RingAttention.apply(*inputs)  # type: ignore[no-untyped-call]


class RingAttention(MultiHeadAttention):
    """Multi-head attention whose x is this process's piece of the sequence.

    There is no mask but is_causal: pad at the end, where no token looks.
    """

    def attend(
        self, query: Tensor, kv: KeyValue, mask: Tensor | None, is_causal: bool
    ) -> Tensor:
        """Attend with every head to the pieces of all processes."""
        if mask is not None or self.dropout:
            raise ValueError(
                "wanted neither mask nor dropout in RingAttention"
            )
        groups = torch.unflatten(query, -3, (self.n_kv_heads, -1))
        key, value = (x.unsqueeze(-3) for x in kv)
        output = ring_attention(groups, key, value, is_causal=is_causal)
        return output.flatten(-4, -3)
