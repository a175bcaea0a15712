# Made from docs/fast/generating-fast.md (5805faa78179). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
from typing import TypeVar

import torch
from jaxtyping import Int
from torch import Tensor

from attention_book.generation.decoder import IncrementalDecoder
from attention_book.generation.state import DecodingState
from attention_book.generation.strategies import NextToken, greedy
from attention_book.tokenizers.special_tokens import BOS, EOS


__all__ = ["drop_finished", "fast_generate"]


_T = TypeVar("_T")


def drop_finished(
    state: DecodingState, active: list[bool], owner: list[_T]
) -> list[_T]:
    """Keep the active rows only; return the owner of each row."""
    n = sum(active)
    owner = list(owner)
    slots = [row for row in range(n) if not active[row]]
    movers = [row for row in range(n, len(active)) if active[row]]
    state.copy_rows(movers, into=slots)
    state.truncate(n)
    for slot, row in zip(slots, movers, strict=True):
        owner[slot] = owner[row]
    return owner[:n]


@torch.inference_mode()
def fast_generate(
    decoder: IncrementalDecoder,
    source: Int[Tensor, "batch source"],
    lengths: Int[Tensor, " batch"],
    *,
    max_length: int,
    next_token: NextToken = greedy,
) -> list[list[int]]:
    """Generate a translation of each source, up to `<eos>` or max_length."""
    device = decoder.output.weight.device
    state = decoder.prefill(source, lengths, max_length)
    owner = list(range(len(source)))
    generated: list[list[int]] = [[] for _ in owner]
    token_ids = torch.full((len(owner),), BOS, device=device)
    while owner and state.length < max_length:
        token_ids = next_token(decoder.decode_step(state, token_ids))
        chosen = token_ids.tolist()
        for i, token_id in zip(owner, chosen, strict=True):
            generated[i].append(token_id)
        active = [token_id != EOS for token_id in chosen]
        if not all(active):
            owner = drop_finished(state, active, owner)
            token_ids = torch.tensor([generated[i][-1] for i in owner])
            token_ids = token_ids.to(device)
    return generated
