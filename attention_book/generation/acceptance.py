# Made from docs/fast/generating-fast.md (01be795e39ba). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""Which tokens of a draft stand. Explained in "Generating fast"."""

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor


__all__ = ["accept"]


def accept(
    proposed: Sequence[int],
    p: Float[Tensor, "tokens_and_next vocab"],
    q: Sequence[Float[Tensor, " vocab"]],
    generator: torch.Generator,
) -> tuple[int, Float[Tensor, " vocab"]]:
    """Return how many proposals stand, and what to draw the next token by.

    Args:
        proposed: Tokens of the draft, drawn by q one after another.
        p: The model's probabilities at each of them, and after the last.
        q: The draft's probabilities at each of them.
        generator: The random generator.

    Source: Leviathan et al. (2023), §2.3 and algorithm 1.
    """
    for n, token_id in enumerate(proposed):
        u = torch.rand((), generator=generator)
        if u * q[n][token_id] >= p[n][token_id]:
            return n, (p[n] - q[n]).clamp(min=0)
    return len(proposed), p[-1]
