# Made from docs/source/text-generation.md (2068668d3646). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
from collections.abc import Sequence
from typing import NamedTuple

import torch

from attention_book._checks import check_size, check_token_ids
from attention_book.attention.caches import KeyValueCache
from attention_book.generation.strategies import NextToken, greedy
from attention_book.models.language import (
    CausalLanguageModel,
    MaskedLanguageModel,
)
from attention_book.tokenizers.special_tokens import EOS


__all__ = ["Candidate", "fill_blank", "generate_text"]


class Candidate(NamedTuple):
    """A token, and how probable it is."""

    token_id: int
    probability: float


@torch.no_grad()
def generate_text(
    model: CausalLanguageModel,
    prompt: Sequence[int],
    *,
    max_length: int,
    next_token: NextToken = greedy,
    eos_id: int | None = EOS,
) -> list[int]:
    """Continue a prompt, up to eos_id or max_length.

    Each layer keeps keys and values in a cache, so that a token is computed
    once: the prompt in one pass, every later token in one of its own.

    Args:
        model: In eval mode.
        prompt: Token ids, usually with `<bos>` in front.
        max_length: Of prompt and continuation, in tokens.
        next_token: The strategy, such as greedy or what sampler returns.
        eos_id: The token after which to stop, or None for none.

    Returns:
        The ids of the prompt and of its continuation.

    Raises:
        ValueError: The prompt is empty, or no token fits after it within
            max_length and the model's positions.
    """
    check_size("max_length", max_length)
    most = model.config.max_length
    if not 0 < len(prompt) < max_length <= most:
        raise ValueError(
            f"wanted 0 < prompt < max_length <= {most} (the model's "
            f"positions) in tokens, got a prompt of {len(prompt)} and "
            f"max_length {max_length}"
        )
    device = model.encoder.tokens.weight.device
    caches = [KeyValueCache(max_length) for _ in range(model.config.n_layers)]
    generated = list(prompt)
    new_ids = torch.tensor([generated], device=device)
    while len(generated) < max_length:
        logits = model(new_ids, caches)
        new_ids = next_token(logits[:, -1])[:, None]
        generated.append(int(new_ids))
        if generated[-1] == eos_id:
            break
    return generated


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
