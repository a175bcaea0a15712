# Made from docs/source/text-generation.md (d077842adc7e). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""Continuing a text, and filling in its blanks.

Explained on the page "Continuing a text, filling in blanks".
"""

from collections.abc import Sequence

import torch

from attention_book._checks import check_size
from attention_book.attention.caches import KeyValueCache
from attention_book.generation.decoder import (
    CachedState,
    Lengths,
    Logits,
    Source,
)
from attention_book.generation.generate import NextToken, generate, greedy
from attention_book.models.language import (
    CausalLanguageModel,
    MaskedLanguageModel,
)
from attention_book.tokenizers.special_tokens import EOS


__all__ = ["PromptDecoder", "fill_blank", "generate_text"]


class PromptDecoder:
    """Generates with a causal language model, whose sources are prompts."""

    sync_every = 1

    def __init__(self, model: CausalLanguageModel) -> None:
        self.model = model

    def prefill(
        self, source: Source, lengths: Lengths, max_length: int
    ) -> tuple[CachedState, Logits]:
        """Read prompts, all of one length, in one pass."""
        capacity = source.shape[1] + max_length
        n_layers = self.model.config.n_layers
        state = CachedState(
            lambda token_ids, state: self.model(token_ids, state.caches),
            [KeyValueCache(capacity) for _ in range(n_layers)],
        )
        device = next(self.model.parameters()).device
        return state, state.forward(source.to(device), state)[:, -1]


def generate_text(
    model: CausalLanguageModel,
    prompt: Sequence[int],
    *,
    max_length: int,
    next_token: NextToken = greedy,
    eos_id: int | None = EOS,
) -> list[int]:
    """Continue a prompt, up to eos_id or max_length.

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
    (found,) = generate(
        PromptDecoder(model),
        torch.tensor([list(prompt)]),
        torch.tensor([len(prompt)]),
        max_length=max_length - len(prompt),
        next_token=next_token,
        eos_id=eos_id,
    )
    return [*prompt, *found]


@torch.no_grad()
def fill_blank(
    model: MaskedLanguageModel,
    token_ids: Sequence[int],
    mask_id: int,
    *,
    n_best: int = 5,
) -> list[list[tuple[int, float]]]:
    """Return the most probable tokens for each `<mask>`, the best first.

    Args:
        model: In eval mode.
        token_ids: Of a text in which one or more tokens are mask_id.
        mask_id: The id of `<mask>`, which is never a candidate.
        n_best: How many candidates to return.

    Returns:
        For each `<mask>` pairs of token id and probability.

    Raises:
        ValueError: There is no `<mask>`, or an id or n_best is out of range.
    """
    check_size("n_best", n_best)
    n_best = min(n_best, model.config.vocab_size - 1)
    ids = torch.tensor([list(token_ids)]).to(model.bias.device)
    is_blank = ids[0] == mask_id
    if not is_blank.any():
        raise ValueError(f"token_ids must hold mask_id {mask_id}, got none")
    logits = model(ids)[0, is_blank].float()
    logits[:, mask_id] = float("-inf")
    best = logits.softmax(-1).topk(n_best)
    pairs = zip(best.indices.tolist(), best.values.tolist(), strict=True)
    return [list(zip(*pair, strict=True)) for pair in pairs]
