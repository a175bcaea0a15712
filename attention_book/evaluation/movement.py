# Made from docs/source/perturbations.md (dfa5841abf68). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
from jaxtyping import Float
from torch import Tensor

from attention_book._checks import check_tensor


__all__ = ["total_variation"]


def total_variation(
    p: Float[Tensor, "*batch n"], q: Float[Tensor, "..."]
) -> Float[Tensor, "*batch"]:
    """Return half of Σ|p - q|: the weight that lies elsewhere, from 0 to 1.

    Raises:
        ValueError: The shapes differ.
    """
    check_tensor("p", p)
    check_tensor("q", q)
    if p.shape != q.shape:
        raise ValueError(
            f"p and q must be of one shape, got {tuple(p.shape)} and "
            f"{tuple(q.shape)}"
        )
    return 0.5 * (p - q).abs().sum(dim=-1)
