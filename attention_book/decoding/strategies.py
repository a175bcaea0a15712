# Made from docs/chapters/13-decoding.md (ddd765a01c2c). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
from collections.abc import Callable

import torch
from jaxtyping import Float, Int
from torch import Tensor


NextToken = Callable[
    [Tensor], Tensor
]  # (rows, n_words) scores to (rows,) words


def greedy(
    scores: Float[Tensor, "rows n_words"],
) -> Int[Tensor, " rows"]:
    """NextToken the word with the highest score."""
    return scores.argmax(-1)


def sampler(
    generator: torch.Generator,
    *,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float = 1.0,
) -> NextToken:
    """Make what draws words by their probability.

    Args:
        generator: Where chance comes from.
        temperature: What scores are divided by.
        top_k: How many words take part, or None for all.
        top_p: The share of probability that takes part; at least one word.

    Source: Fan et al. (2018), §5.4, for top-k; Holtzman et al. (2020), §3.1,
        for top-p.
    """
    k = 1 if top_k is None else top_k
    if not temperature > 0 or not 0 < top_p <= 1 or k < 1:
        raise ValueError(
            "wanted temperature > 0, 0 < top_p <= 1 and top_k >= 1, "
            f"got {temperature}, {top_p} and {top_k}"
        )

    def draw(scores: Tensor) -> Tensor:
        best, words = (scores / temperature).sort(-1, descending=True)
        shares = best[:, :top_k].softmax(-1)
        before = shares.cumsum(-1) - shares
        shares = shares.masked_fill(before >= top_p, 0)
        place = torch.multinomial(shares, 1, generator=generator)
        return words.gather(1, place)[:, 0]

    return draw
