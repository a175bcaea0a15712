# Made from docs/source/adaptive-layers.md (7d403a593cd5). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
import math
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from attention_book._checks import check_positive, check_size
from attention_book.attention.caches import KeyValue
from attention_book.attention.entmax import EagerAttention
from attention_book.attention.functional import masked_softmax


__all__ = ["SpanAttention", "mean_span"]


class SpanAttention(EagerAttention):
    """Self-attention whose heads learn how far they see.

    Where it is causal and has no other mask, keys too far off for all of the
    heads are not even compared with the queries.

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

    def attend(
        self, query: Tensor, kv: KeyValue, mask: Tensor | None, is_causal: bool
    ) -> Tensor:
        """Attend with every head; causally, within blocks of the span."""
        n = query.shape[-2]
        width = math.ceil(self.spans.max().item() + self.ramp)
        near = mask is None and is_causal and kv.key.shape[-2] == n
        if not near or n <= 2 * width:
            return super().attend(query, kv, mask, is_causal)
        blocks = _blocks(query, width)  # (…, blocks, heads, width, d_k)
        twice = KeyValue(*(_with_previous(x, width) for x in kv))
        mask = torch.ones(
            blocks.shape[-4], 1, 1, 2 * width, dtype=torch.bool
        ).to(query.device)
        mask[0, ..., :width] = False  # nothing is before the first block
        heads = super().attend(blocks, twice, mask, is_causal)
        return heads.movedim(-4, -3).flatten(-3, -2)[..., :n, :]


def _blocks(x: Tensor, width: int) -> Tensor:
    """(…, heads, n, d) as (…, blocks, heads, width, d), zeros at the end."""
    x = F.pad(x, (0, 0, 0, -x.shape[-2] % width)).contiguous()
    x = x.view(*x.shape[:-2], -1, width, x.shape[-1])
    return x.movedim(-3, -4)


def _with_previous(x: Tensor, width: int) -> Tensor:
    """The blocks, each behind the one before it."""
    x = _blocks(F.pad(x, (0, 0, width, 0)), width)
    return torch.cat([x[..., :-1, :, :, :], x[..., 1:, :, :, :]], dim=-2)


def mean_span(model: nn.Module) -> Float[Tensor, ""]:
    """Return the mean span of all heads, which a loss can have added to it."""
    layers = [m for m in model.modules() if isinstance(m, SpanAttention)]
    if not layers:
        raise ValueError("model must have SpanAttention layers, got none")
    return torch.cat([layer.spans for layer in layers]).mean()
