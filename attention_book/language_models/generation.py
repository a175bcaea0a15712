# Made from docs/source/text-generation.md (777be1003e97). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""Filling in blanks.

Explained in the chapter "Continuing, filling blanks, counting n-grams".
"""

from collections.abc import Sequence
from typing import NamedTuple

import torch

from attention_book._checks import check_size, check_token_ids
from attention_book.models.language import MaskedLanguageModel


__all__ = ["Candidate", "fill_blank"]


class Candidate(NamedTuple):
    """A token, and how probable it is."""

    token_id: int
    probability: float


@torch.no_grad()
def fill_blank(
    model: MaskedLanguageModel,
    token_ids: Sequence[int],
    mask_id: int,
    *,
    n_best: int = 5,
) -> list[list[Candidate]]:
    """Return the most probable tokens for each `<mask>`, the best first.

    Args:
        model: In eval mode.
        token_ids: Of a text in which one or more tokens are mask_id.
        mask_id: The id of `<mask>`, which is never a candidate.
        n_best: How many candidates to return.

    Raises:
        ValueError: There is no `<mask>`, or an id or n_best is out of range.
    """
    vocab_size = model.config.vocab_size
    check_size("n_best", n_best)
    if n_best >= vocab_size:
        raise ValueError(
            f"n_best must be below {vocab_size}, the size of the vocabulary, "
            f"got {n_best}"
        )
    device = model.encoder.tokens.weight.device
    ids = torch.tensor([list(token_ids)], device=device)
    is_blank = ids[0] == mask_id
    if not is_blank.any():
        raise ValueError(f"token_ids must hold mask_id {mask_id}, got none")
    check_token_ids("token_ids", ids, vocab_size)
    logits = model(ids)[0, is_blank].float()
    logits[:, mask_id] = float("-inf")
    best = logits.softmax(-1).topk(n_best)
    return [
        [Candidate(*pair) for pair in zip(found, shares, strict=True)]
        for found, shares in zip(
            best.indices.tolist(), best.values.tolist(), strict=True
        )
    ]
