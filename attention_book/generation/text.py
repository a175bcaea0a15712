# Made from docs/source/text-generation.md (f539a2942e41). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
from collections.abc import Sequence

import torch

from attention_book._checks import check_size
from attention_book.attention.caches import KeyValueCache
from attention_book.generation.strategies import NextToken, greedy
from attention_book.models.language import CausalLanguageModel
from attention_book.tokenizers.special_tokens import EOS


__all__ = ["generate_text"]


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
