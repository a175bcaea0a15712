# Made from docs/source/text-generation.md (345e24d28f39). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""Continuing a prompt with a causal language model.

Explained in the chapter "Continuing, filling blanks, counting n-grams".
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
from attention_book.generation.generate import generate
from attention_book.generation.strategies import NextToken, greedy
from attention_book.models.language import CausalLanguageModel
from attention_book.tokenizers.special_tokens import EOS


__all__ = ["PromptDecoder", "generate_text"]


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
