# Made from docs/transformer/beam-search.md (f19b8f31d5a2). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""Exact search. Explained in "Beam search and exact search"."""

import heapq
import math
from collections.abc import Sequence
from typing import NamedTuple

import torch

from attention_book._checks import check_size
from attention_book.data.batches import pad
from attention_book.generation.generate import Hypothesis
from attention_book.models.transformer import Transformer
from attention_book.tokenizers.special_tokens import BOS, EOS


__all__ = ["Exact", "exact_search"]


class Exact(NamedTuple):
    """What exact_search found.

    Attributes:
        translation: The most probable one, or None where max_calls was
            reached first.
        n_calls: How often the decoder was called.
    """

    translation: Hypothesis | None
    n_calls: int


@torch.inference_mode()
def exact_search(
    model: Transformer,
    source: Sequence[int],
    *,
    max_length: int,
    min_length: int = 1,
    max_calls: int = 10_000,
) -> Exact:
    """Find the most probable of all translations of a source.

    Args:
        model: In eval mode.
        source: Token ids.
        max_length: The most tokens of a translation, `<eos>` included.
        min_length: The fewest.
        max_calls: After how many calls of the decoder to give up.

    Source: Stahlberg and Byrne (2019), who search depth first.
    """
    check_size("max_length", max_length)
    check_size("min_length", min_length)
    check_size("max_calls", max_calls)
    if min_length > max_length:
        raise ValueError(
            f"min_length must be at most max_length, {max_length}, "
            f"got {min_length}"
        )
    encoded = model.encode(*pad([source]))
    queue = [(0.0, Hypothesis())]  # -log p first
    best, n_calls = math.inf, 0
    while queue:
        cost, prefix = heapq.heappop(queue)
        if prefix[-1:] == [EOS]:
            return Exact(prefix, n_calls)
        if len(prefix) == max_length:
            continue  # no room for <eos>
        if n_calls == max_calls:
            break
        n_calls += 1
        logits = model.decode(torch.tensor([[BOS, *prefix]]), *encoded)
        costs = cost - logits[0, -1].double().log_softmax(-1)
        if len(prefix) + 1 < min_length:
            costs[EOS] = math.inf
        best = min(best, float(costs[EOS]))
        for token_id in (costs <= best).nonzero()[:, 0].tolist():
            more = float(costs[token_id])
            log_probs = *prefix.log_probs, cost - more
            child = Hypothesis([*prefix, token_id], log_probs)
            heapq.heappush(queue, (more, child))
    return Exact(None, n_calls)
