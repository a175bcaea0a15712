# Made from docs/trust/adaptive.md (b0a078de2dd2). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""Sparsemax, and attention layers that compute their weights.

Explained in the chapter "Adaptive attention".
"""

import math

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor

from attention_book._checks import check_mask
from attention_book.attention.caches import KeyValue
from attention_book.attention.functional import causal_mask, masked_softmax
from attention_book.attention.multi_head import MultiHeadAttention


__all__ = ["EagerAttention", "SparsemaxAttention", "shift_scores", "sparsemax"]


def shift_scores(scores: Tensor, mask: Tensor | None) -> Tensor:
    """Return scores in fp32 or fp64, with the largest of each row at 0.

    Masked ones are far below.

    Raises:
        ValueError: Scores that are not floating-point, or a mask that is not
            boolean or does not broadcast.
    """
    if not scores.ndim or not scores.is_floating_point():
        raise ValueError(
            "scores must be a floating-point tensor (..., keys), got "
            f"{scores.dtype} of shape {tuple(scores.shape)}"
        )
    x = scores.to(torch.promote_types(scores.dtype, torch.float32))
    if mask is not None:
        check_mask(mask, scores.shape)
        x = x.masked_fill(~mask, torch.finfo(x.dtype).min)
    return x - x.detach().amax(dim=-1, keepdim=True) if x.numel() else x


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
