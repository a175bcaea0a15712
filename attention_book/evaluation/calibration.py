# Made from docs/source/perturbations.md (6f8171d1ebc8). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""Whether confidence can be relied on, and temperature scaling.

Explained in the chapter "Robustness and fairness" and on the page
"Perturbations and biased corpora".
"""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from attention_book._checks import check_columns, check_size


__all__ = ["expected_calibration_error", "fit_temperature"]


def expected_calibration_error(
    confidence: Float[Tensor, " n"],
    right: Bool[Tensor, " n"],
    n_bins: int = 10,
) -> float:
    """Return how far confidence and accuracy are apart, over equal bins.

    Raises:
        ValueError: Lengths differ, or a confidence is not from 0 to 1.

    Source: Guo et al. (2017), §2, equation 3.
    """
    check_columns(confidence=confidence, right=right)
    check_size("n_bins", n_bins)
    if not ((confidence >= 0) & (confidence <= 1)).all():
        raise ValueError(
            "confidence must be from 0 to 1, got from "
            f"{confidence.min():g} to {confidence.max():g}"
        )
    bins = (confidence * n_bins).long().clamp(max=n_bins - 1)
    gap = confidence.double() - right.double()
    sums = torch.zeros(n_bins, dtype=torch.double).index_add(0, bins, gap)
    return (sums.abs().sum() / len(gap)).item()


def fit_temperature(
    logits: Float[Tensor, "n classes"], labels: Int[Tensor, " n"]
) -> float:
    """Return the T, 0.01 to 100, for which logits / T have the least loss.

    There the logit that the model expects is as large as the right one, on
    average. It grows as T falls, so T is found by halving.

    Source: Guo et al. (2017), §4.2, temperature scaling.
    """
    right = logits.gather(1, labels[:, None]).mean()
    low, high = 0.01, 100.0
    for _ in range(50):
        middle = (low * high) ** 0.5
        expected = ((logits / middle).softmax(dim=1) * logits).sum(dim=1)
        if expected.mean() > right:
            low = middle
        else:
            high = middle
    return middle
