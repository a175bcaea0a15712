# Made from docs/trust/adaptive.md (af8159ffd6a4). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""Sparse attention weights: sparsemax, and layers without softmax.

Explained in the chapter "Adaptive attention".
"""

import math
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor, nn

from attention_book._checks import check_number
from attention_book.attention.caches import KeyValue
from attention_book.attention.entmax import entmax, entmax15, shift_scores
from attention_book.attention.functional import causal_mask, masked_softmax
from attention_book.attention.multi_head import MultiHeadAttention


__all__ = [
    "EagerAttention",
    "Entmax15Attention",
    "EntmaxAttention",
    "SparsemaxAttention",
    "sparsemax",
]


def sparsemax(
    scores: Float[Tensor, "*batch keys"],
    mask: Bool[Tensor, "..."] | None = None,
) -> Float[Tensor, "*batch keys"]:
    """Project each row of scores onto the simplex: max(s - τ, 0).

    Args:
        scores: Finite numbers.
        mask: True = may attend; broadcasts to the shape of scores.

    Returns:
        Weights that sum to 1, many of them exactly 0. A row whose every key
        is masked is all zeros.

    Raises:
        ValueError: Scores that are no floating-point tensor, or a mask that
            is not boolean or does not broadcast.

    Source: Martins and Astudillo (2016), §2.1 and algorithm 1.
    """
    s = shift_scores(scores, mask).clamp(min=-2)  # below -1 weights are 0
    if not s.numel():
        return scores.clone()
    ordered = s.sort(dim=-1, descending=True).values
    k = torch.arange(1, s.shape[-1] + 1, device=s.device)
    tau = (ordered.cumsum(dim=-1) - 1) / k  # if the first k remain
    size = (ordered > tau).sum(dim=-1, keepdim=True)
    weights = (s - tau.gather(-1, size - 1)).clamp(min=0)
    if mask is not None:
        weights = weights.masked_fill(~mask, 0.0)
    return weights.to(scores.dtype)


class EagerAttention(MultiHeadAttention):
    """Multi-head attention that computes its weights, not in one kernel.

    A subclass may compute them in another way.
    """

    def weights(self, scores: Tensor, mask: Tensor | None) -> Tensor:
        """From scores (*batch, heads, queries, keys) to weights."""
        return masked_softmax(scores, mask)

    def attend(
        self, query: Tensor, kv: KeyValue, mask: Tensor | None, is_causal: bool
    ) -> Tensor:
        """Attend with every head; the values may have any width."""
        group = self.n_heads // self.n_kv_heads
        key, value = (x.repeat_interleave(group, dim=-3) for x in kv)
        scores = query @ key.mT / math.sqrt(self.d_k)
        if is_causal:
            causal = causal_mask(*scores.shape[-2:], device=scores.device)
            mask = causal if mask is None else mask & causal
        weights = self.weights(scores, mask)
        return F.dropout(weights, self.dropout, self.training) @ value


class SparsemaxAttention(EagerAttention):
    """Multi-head attention with sparsemax for softmax."""

    def weights(self, scores: Tensor, mask: Tensor | None) -> Tensor:
        """From scores (*batch, heads, queries, keys) to weights."""
        return sparsemax(scores, mask)


class Entmax15Attention(EagerAttention):
    """Multi-head attention with 1.5-entmax for softmax."""

    def weights(self, scores: Tensor, mask: Tensor | None) -> Tensor:
        """From scores (*batch, heads, queries, keys) to weights."""
        return entmax15(scores, mask)


class EntmaxAttention(EagerAttention):
    """Multi-head attention whose heads learn how sparse they are.

    Args:
        d_model: Width of inputs and output.
        n_heads: Number of heads, each with an α of its own.
        alpha: What every α is at first.
        options: Those of MultiHeadAttention.

    Source: Correia et al. (2019), §3.
    """

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        *,
        alpha: float = 1.5,
        **options: Any,
    ) -> None:
        super().__init__(d_model, n_heads, **options)
        check_number("alpha", alpha)
        if not 1 < alpha < 2:
            raise ValueError(f"alpha must be between 1 and 2, got {alpha}")
        logit = math.log((alpha - 1) / (2 - alpha))
        self.alpha_logits = nn.Parameter(torch.full((n_heads,), logit))

    @property
    def alpha(self) -> Tensor:
        """The α of each head, between 1 and 2."""
        return 1 + self.alpha_logits.sigmoid()

    def weights(self, scores: Tensor, mask: Tensor | None) -> Tensor:
        """From scores (*batch, heads, queries, keys) to weights."""
        return entmax(scores, self.alpha[:, None, None], mask)
