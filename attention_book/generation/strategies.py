# Made from docs/transformer/decoding.md (12b173c3a9e4). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""Which token comes next. Explained in the chapter "Decoding"."""

from collections.abc import Callable, Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor

from attention_book._checks import check_number, check_size


__all__ = ["NextToken", "greedy", "sampler", "suppressed"]


NextToken = Callable[[Tensor], Tensor]  # logits (batch, vocab) to (batch,)


def greedy(
    logits: Float[Tensor, "batch vocab"],
) -> Int[Tensor, " batch"]:
    """Return the token with the highest logit."""
    return logits.argmax(-1)


def suppressed(
    logits: Float[Tensor, "*batch vocab"], token_ids: Sequence[int]
) -> Float[Tensor, "*batch vocab"]:
    """Return logits by which none of these tokens is ever chosen."""
    if not token_ids:
        return logits
    index = torch.tensor(token_ids, device=logits.device)
    return logits.index_fill(-1, index, -torch.inf)


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
