# Made from docs/source/text-generation.md (4445902c86ce). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
from typing import NamedTuple

import torch
from jaxtyping import Int
from torch import Tensor

from attention_book._checks import check_number, check_size, check_token_ids
from attention_book.tokenizers.special_tokens import SPECIAL_TOKENS


__all__ = ["IGNORED", "MaskedTokens", "mask_tokens"]


IGNORED = -100  # the label of a token that is not to be predicted


class MaskedTokens(NamedTuple):
    """What a masked language model reads, and what it has to predict."""

    token_ids: Tensor  # (batch, length)
    labels: Tensor  # (batch, length), IGNORED where nothing is predicted


def mask_tokens(
    token_ids: Int[Tensor, "batch length"],
    mask_id: int,
    generator: torch.Generator,
    *,
    mlm_probability: float = 0.15,
    mask_replace_prob: float = 0.8,
    random_replace_prob: float = 0.1,
) -> MaskedTokens:
    """Choose tokens to predict, and hide most of them.

    Of those chosen, a share becomes mask_id, a share a random token, and the
    rest stays. Special tokens, padding among them, are never chosen.

    Args:
        token_ids: Of real text; special tokens have the lowest ids.
        mask_id: The id of `<mask>`, which comes after all others.
        generator: The random generator, on the device of token_ids.
        mlm_probability: How likely each token is to be chosen.
        mask_replace_prob: The share that becomes mask_id.
        random_replace_prob: The share that becomes a random token.

    Raises:
        ValueError: Ids or probabilities are out of range.

    Source: Devlin et al. (2019), §3.1 and appendix A.1.
    """
    n_special = len(SPECIAL_TOKENS)
    check_size("mask_id", mask_id, n_special + 1)
    check_token_ids("token_ids", token_ids, mask_id)
    shares = (mlm_probability, mask_replace_prob, random_replace_prob)
    for share in shares:
        check_number("probabilities", share)
    if min(shares) < 0 or max(shares[0], sum(shares[1:])) > 1 + 1e-9:
        raise ValueError(
            "probabilities must be from 0 to 1, and those of mask and random "
            f"token at most 1 together, got {shares}"
        )
    chance = torch.rand(
        2, *token_ids.shape, generator=generator, device=token_ids.device
    )
    chosen = (chance[0] < mlm_probability) & (token_ids >= n_special)
    random_ids = torch.randint_like(
        token_ids, n_special, mask_id, generator=generator
    )
    masked = chosen & (chance[1] < mask_replace_prob)
    swapped = chosen & ~masked
    swapped &= chance[1] < mask_replace_prob + random_replace_prob
    inputs = torch.where(swapped, random_ids, token_ids)
    inputs = inputs.masked_fill(masked, mask_id)
    return MaskedTokens(inputs, token_ids.masked_fill(~chosen, IGNORED))
