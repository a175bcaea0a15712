# Made from docs/chapters/61-adaptive-layers.md (dfa4b4954a84). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from attention_book.adaptive.attention import EagerAttention
from attention_book.checks import check_positive, check_size
from attention_book.scoring import masked_softmax


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
        check_positive("ramp", ramp)
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
        is_seen = soft > 0
        scores = scores + soft.masked_fill(~is_seen, 1).log().to(scores.dtype)
        return masked_softmax(
            scores, is_seen if mask is None else mask & is_seen
        )


def mean_span(model: nn.Module) -> Float[Tensor, ""]:
    """Return the mean span of all heads, which a loss can have added to it."""
    layers = [m for m in model.modules() if isinstance(m, SpanAttention)]
    if not layers:
        raise ValueError("model must have SpanAttention layers, got none")
    return torch.cat([layer.spans for layer in layers]).mean()
