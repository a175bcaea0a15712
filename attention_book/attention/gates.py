# Made from docs/source/adaptive-layers.md (d6ccfdb4bce1). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""Gates that open and close heads.

Explained on the page "Layers for adaptive attention".
"""

import math
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from attention_book.attention.caches import KeyValue
from attention_book.attention.multi_head import MultiHeadAttention


__all__ = ["GatedAttention", "expected_heads"]


_BETA = 2 / 3  # temperature
_GAMMA, _ZETA = -0.1, 1.1  # what (0, 1) is stretched to


class GatedAttention(MultiHeadAttention):
    """Multi-head attention whose heads are multiplied by gates from 0 to 1.

    In training a gate is drawn from the hard concrete distribution, so that
    it is often exactly 0 or 1; otherwise it is what its logit says.

    Args:
        d_model: Width of inputs and output.
        n_heads: Number of heads. All gates are nearly open at first.
        options: Those of MultiHeadAttention.

    Source: Louizos et al. (2018), §2.2; for heads, Voita et al. (2019), §6.
    """

    def __init__(self, d_model: int, n_heads: int, **options: Any) -> None:
        super().__init__(d_model, n_heads, **options)
        self.gate_logits = nn.Parameter(torch.full((n_heads,), 2.0))

    def gates(self) -> Float[Tensor, " heads"]:
        """Draw the gates, or in eval mode return what they have become."""
        logits: Tensor = self.gate_logits
        if self.training:
            u = torch.rand_like(logits).clamp(1e-6, 1 - 1e-6)
            logits = (logits + u.logit()) / _BETA
        return (logits.sigmoid() * (_ZETA - _GAMMA) + _GAMMA).clamp(0, 1)

    def attend(
        self, query: Tensor, kv: KeyValue, mask: Tensor | None, is_causal: bool
    ) -> Tensor:
        """Attend with every head, and multiply each by its gate."""
        heads = super().attend(query, kv, mask, is_causal)
        return heads * self.gates()[:, None, None]


def expected_heads(model: nn.Module) -> Float[Tensor, ""]:
    """Return how many gates are above 0 on average, to be added to a loss."""
    layers = [m for m in model.modules() if isinstance(m, GatedAttention)]
    logits = torch.cat([layer.gate_logits for layer in layers])
    return (logits - _BETA * math.log(-_GAMMA / _ZETA)).sigmoid().sum()
