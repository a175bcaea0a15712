# Made from docs/transformer/decoding.md (5d5c11ea61d4). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""The loop that generates, and how it chooses each token.

Explained in the chapter "Decoding".
"""

import math
from collections.abc import Callable, Iterable, Sequence

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor

from attention_book._checks import check_number, check_size
from attention_book.generation.decoder import (
    CachedDecoder,
    Lengths,
    Source,
    StepDecoder,
)
from attention_book.models.transformer import Transformer
from attention_book.tokenizers.special_tokens import EOS


__all__ = [
    "Hypothesis",
    "NextToken",
    "generate",
    "greedy",
    "rows_to_keep",
    "sampler",
]


NextToken = Callable[[Tensor], Tensor]  # logits (batch, vocab) to (batch,)


def greedy(
    logits: Float[Tensor, "batch vocab"],
) -> Int[Tensor, " batch"]:
    """Return the token with the highest logit."""
    return logits.argmax(-1)


class Hypothesis(list[int]):
    """Token ids that were generated, and how probable they are.

    Attributes:
        log_prob: The sum of the tokens' log-probabilities, or NaN where
            generate was not asked for it.
    """

    def __init__(
        self, token_ids: Iterable[int] = (), log_prob: float = 0.0
    ) -> None:
        super().__init__(token_ids)
        self.log_prob = log_prob


@torch.inference_mode()
def generate(
    model: StepDecoder | Transformer,
    source: Source,
    lengths: Lengths,
    *,
    max_length: int,
    next_token: NextToken = greedy,
    eos_id: int | None = EOS,
    with_log_probs: bool = False,
) -> list[Hypothesis]:
    """Generate a translation of each source, up to `<eos>` or max_length.

    Args:
        model: In eval mode, or a decoder that makes its steps faster.
        source: Token ids of the sources, padded at the end.
        lengths: How many tokens of each source are real.
        max_length: The most tokens of a translation.
        next_token: The strategy, such as greedy or what sampler returns.
        eos_id: The token after which to stop, or None for none.
        with_log_probs: Whether to sum log-probabilities, of the model and not
            of next_token, which takes another look at all logits.
    """
    check_size("max_length", max_length)
    decoder = CachedDecoder(model) if isinstance(model, Transformer) else model
    state, logits = decoder.prefill(source, lengths, max_length)
    found = [Hypothesis() for _ in source]
    rows = found  # the hypothesis of each row
    steps: list[tuple[Tensor, Tensor]] = []  # that are not read yet
    log_probs = torch.full(lengths.shape, math.nan)
    for n in range(1, max_length + 1):
        token_ids = next_token(logits)
        if with_log_probs:
            log_probs = -F.cross_entropy(
                logits.float(), token_ids, reduction="none"
            )
        steps.append((token_ids, log_probs[: len(rows)]))
        if n % decoder.sync_every == 0 or n == max_length:
            columns = (
                torch.stack(x).tolist() for x in zip(*steps, strict=True)
            )
            for column in zip(*columns, strict=True):
                for row, token_id, log_prob in zip(rows, *column, strict=True):
                    if row[-1:] != [eos_id]:
                        row.append(token_id)
                        row.log_prob += log_prob
            steps.clear()
            active = [row[-1] != eos_id for row in rows]
            if n == max_length or not any(active):
                break
            if not all(active):
                kept = rows_to_keep(active)
                state.keep(kept)
                rows = [rows[i] for i in kept]
                token_ids = token_ids[kept]
        logits = state.step(token_ids)
    return found


def rows_to_keep(active: Sequence[bool]) -> list[int]:
    """Return the active rows, in an order in which the fewest move.

    Those at the end go to the places of rows that have finished.
    """
    n = sum(active)
    movers = iter([row for row in range(n, len(active)) if active[row]])
    return [row if active[row] else next(movers) for row in range(n)]


def sampler(
    generator: torch.Generator,
    *,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float = 1.0,
) -> NextToken:
    """Make a strategy that samples tokens by their probability.

    Args:
        generator: The random generator.
        temperature: What logits are divided by.
        top_k: How many tokens take part, or None for all.
        top_p: The probability that takes part; at least one token does.

    Source: Fan et al. (2018), §5.4, for top-k; Holtzman et al. (2020), §3.1,
        for top-p.
    """
    check_number("temperature", temperature, positive=True)
    check_size("top_k", 1 if top_k is None else top_k)
    check_number("top_p", top_p)
    if not 0 < top_p <= 1:
        raise ValueError(f"top_p must be in (0, 1], got {top_p}")

    def sample(logits: Tensor) -> Tensor:
        scaled = logits.float() / temperature
        best, token_ids = scaled.sort(-1, descending=True)
        probabilities = best[:, :top_k].softmax(-1)
        if top_p < 1:
            before = probabilities.cumsum(-1) - probabilities
            probabilities = probabilities.masked_fill(before >= top_p, 0)
        drawn = torch.multinomial(probabilities, 1, generator=generator)
        return token_ids.gather(1, drawn)[:, 0]

    return sample
