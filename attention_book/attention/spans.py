# Made from docs/trust/adaptive.md (35092686b7d7). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""Attention spans that heads learn.

Explained in the chapter "Adaptive attention".
"""

import math
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from attention_book._checks import check_number, check_size
from attention_book.attention.caches import KeyValue
from attention_book.attention.functional import masked_softmax
from attention_book.attention.local import attend_locally
from attention_book.attention.sparse import EagerAttention


__all__ = ["SpanAttention", "mean_span"]


class SpanAttention(EagerAttention):
    """Self-attention whose heads learn how far they see.

    Args:
        d_model: Width of inputs and output.
        n_heads: Number of heads. Each sees max_span / 2 far at first.
        max_span: The farthest that a head can learn to see, in tokens.
        ramp: Within how many tokens beyond its span a weight falls to 0.
        options: Those of MultiHeadAttention.

    Source: Sukhbaatar et al. (2019), §2.2. There spans are clipped to the
        range, here a sigmoid keeps them in it.
    """

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        *,
        max_span: int,
        ramp: float = 2.0,
        **options: Any,
    ) -> None:
        super().__init__(d_model, n_heads, **options)
        check_size("max_span", max_span)
        check_number("ramp", ramp, positive=True)
        self.max_span = max_span
        self.ramp = ramp
        self.span_logits = nn.Parameter(torch.zeros(n_heads))

    @property
    def spans(self) -> Float[Tensor, " heads"]:
        """How far each head sees, in tokens."""
        return self.max_span * self.span_logits.sigmoid()

    def weights(self, scores: Tensor, mask: Tensor | None) -> Tensor:
        """Softmax times the soft mask; the last query is at the last key."""
        queries, keys = scores.shape[-2:]
        key = torch.arange(keys, device=scores.device)
        query = torch.arange(keys - queries, keys, device=scores.device)
        distance = (query[:, None] - key).abs()
        beyond = (distance - self.spans[:, None, None]) / self.ramp
        soft = (1 - beyond).clamp(0, 1)  # (heads, queries, keys)
        seen = soft > 0
        scores = scores + soft.masked_fill(~seen, 1).log().to(scores.dtype)
        return masked_softmax(scores, seen if mask is None else mask & seen)

    def attend(
        self, query: Tensor, kv: KeyValue, mask: Tensor | None, is_causal: bool
    ) -> Tensor:
        """Attend with every head; causally, to no keys that are too far."""
        width = math.ceil(self.spans.max().item() + self.ramp)
        n = query.shape[-2]
        near = mask is None and is_causal and kv.key.shape[-2] == n
        if not near or n <= 2 * width:
            return super().attend(query, kv, mask, is_causal)
        return attend_locally(super().attend, query, kv, width)


def mean_span(model: nn.Module) -> Float[Tensor, ""]:
    """Return the mean span of all heads, which a loss can have added to it."""
    layers = [m for m in model.modules() if isinstance(m, SpanAttention)]
    return torch.cat([layer.spans for layer in layers]).mean()
