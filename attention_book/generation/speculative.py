# Made from docs/source/fast-decoding.md (43cfe08806eb). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""A draft proposes tokens, and the model checks them in one pass.

Explained in "Fast decoders".
"""

from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from attention_book._checks import check_number, check_size
from attention_book.generation.acceptance import accept
from attention_book.generation.decoder import (
    CachedDecoder,
    CachedState,
    Lengths,
    Logits,
    Source,
    StepDecoder,
)
from attention_book.models.transformer import Transformer
from attention_book.tokenizers.special_tokens import EOS


__all__ = ["Speculation", "speculate"]


class Speculation(NamedTuple):
    """What speculate generated, and how.

    Attributes:
        token_ids: The tokens.
        accepted: How many of the draft's tokens each pass of the model
            accepted. The first token was the prefill's.
    """

    token_ids: list[int]
    accepted: list[int]


def _prefill(
    model: Transformer | StepDecoder,
    source: Source,
    lengths: Lengths,
    max_length: int,
) -> tuple[CachedState, Logits]:
    """Read the source; ValueError if the state takes a token at a time."""
    decoder = CachedDecoder(model) if isinstance(model, Transformer) else model
    state, logits = decoder.prefill(source, lengths, max_length)
    if not isinstance(state, CachedState):
        raise ValueError(
            "model and draft must decode with a CachedState, got "
            f"{type(decoder).__name__} with {type(state).__name__}"
        )
    return state, logits


@torch.inference_mode()
def speculate(
    model: Transformer | StepDecoder,
    draft: Transformer | StepDecoder,
    source: Source,
    lengths: Lengths,
    *,
    max_length: int,
    n_draft: int = 4,
    temperature: float = 0.0,
    eos_id: int | None = EOS,
    generator: torch.Generator | None = None,
) -> Speculation:
    """Generate as the model alone would, in fewer passes of it.

    Args:
        model: A Transformer or a decoder with a CachedState, in eval mode.
        draft: Another with the same tokens, quick and often right.
        source: One source or prompt.
        lengths: Its length.
        max_length: The most tokens to generate.
        n_draft: How many tokens the draft proposes at a time.
        temperature: What logits are divided by; 0 is greedy, and then the
            tokens are those of generate.
        eos_id: The token after which to stop, or None for none.
        generator: The random generator; by default a new one.

    Raises:
        ValueError: There are several sources, or a number is out of range.

    Source: Leviathan et al. (2023), algorithm 1; Chen et al. (2023),
        algorithm 2.
    """
    check_size("max_length", max_length)
    check_size("n_draft", n_draft)
    check_number("temperature", temperature)
    if temperature < 0:
        raise ValueError(f"temperature must be at least 0, got {temperature}")
    if len(source) != 1:
        raise ValueError(f"source must be one sequence, got {len(source)}")
    random = torch.Generator() if generator is None else generator

    def distribution(logits: Tensor) -> Tensor:
        logits = logits.cpu().double()
        if temperature == 0:
            return F.one_hot(logits.argmax(-1), logits.shape[-1]).double()
        return (logits / temperature).softmax(-1)

    def draw(probabilities: Tensor) -> int:
        return int(torch.multinomial(probabilities, 1, generator=random))

    def forward(state: CachedState, token_ids: list[int]) -> Tensor:
        row = torch.tensor([token_ids], device=logits.device)
        return distribution(state.forward(row, state)[0])

    ours, logits = _prefill(model, source, lengths, max_length)
    other, _ = _prefill(draft, source, lengths, max_length)
    n_read = [int(state.caches[0].length) for state in (ours, other)]
    found = [draw(distribution(logits[0]))]
    accepted: list[int] = []
    seen = 0  # how many tokens of found the draft has read
    while len(found) < max_length and found[-1] != eos_id:
        proposed: list[int] = []
        q: list[Tensor] = []
        unread = found[seen:]
        for _ in range(min(n_draft, max_length - len(found) - 1)):
            q.append(forward(other, unread)[-1])
            unread = [draw(q[-1])]
            proposed += unread
        p = forward(ours, [found[-1], *proposed])
        n, rest = accept(proposed, p, q, random)
        seen = len(found) + min(n, len(proposed) - 1)
        found += [*proposed[:n], draw(rest)]
        accepted.append(n)
        if eos_id in found:
            del found[found.index(eos_id) + 1 :]
        lengths_now = n_read[0] + len(found) - 1, n_read[1] + seen
        for state, length in zip((ours, other), lengths_now, strict=True):
            for cache in state.caches:
                cache.length = length
    return Speculation(found, accepted)
