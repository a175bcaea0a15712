# Made from docs/source/long-contexts.md (cf3c6b6a2c94). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""Rotary positions for longer texts than they were trained on.

Explained in the chapter "Long sequences" and on the page "Layers for long
contexts".
"""

import math

import torch
from jaxtyping import Float
from torch import Tensor

from attention_book._checks import check_number, check_size
from attention_book.attention.caches import Offset
from attention_book.attention.positions import RotaryEmbedding


__all__ = ["YarnEmbedding"]


class YarnEmbedding(RotaryEmbedding):
    """Rotary positions whose slow pairs are slowed down.

    Pair i makes r_i turns within the trained length. It keeps its frequency
    ω_i if r_i is fast or more, gets ω_i / factor if r_i is slow or less, and
    a blend of both between. Queries and keys are multiplied by
    0.1 ln factor + 1, which makes scores larger.

    Args:
        d_k: Width of each query and key; even.
        factor: By how much texts are longer; at least 1.
        trained_length: Of the texts that the model was trained on.
        base: As in training.
        slow: Turns up to which a pair is slowed down; α in the paper.
        fast: Turns from which a pair stays as it is; β in the paper.

    Source: Peng et al. (2023), version 2, §3.2 and §3.4.
    """

    def __init__(
        self,
        d_k: int,
        factor: float,
        trained_length: int,
        *,
        base: float = 10_000.0,
        slow: float = 1.0,
        fast: float = 32.0,
    ) -> None:
        super().__init__(d_k, base)
        check_number("factor", factor, positive=True)
        check_size("trained_length", trained_length)
        if factor < 1 or not slow < fast:
            raise ValueError(
                "factor must be at least 1 and slow below fast, got "
                f"factor {factor}, slow {slow} and fast {fast}"
            )
        self.factor = factor
        self.trained_length = trained_length
        self.slow = slow
        self.fast = fast

    def angles(self, x: Tensor, offset: Offset) -> Tensor:
        """By how much each pair is rotated: (length, pairs)."""
        angles = super().angles(x, offset)
        pairs = torch.arange(0, self.d_k, 2, device=x.device)
        omega = self.base ** (-pairs / self.d_k)
        turns = self.trained_length * omega / (2 * math.pi)
        kept = ((turns - self.slow) / (self.fast - self.slow)).clamp(0, 1)
        return angles * (kept + (1 - kept) / self.factor)

    def forward(
        self, x: Float[Tensor, "*batch length d_k"], offset: Offset = 0
    ) -> Float[Tensor, "*batch length d_k"]:
        """Return x rotated, and larger by the root of the temperature."""
        return (0.1 * math.log(self.factor) + 1) * super().forward(x, offset)
