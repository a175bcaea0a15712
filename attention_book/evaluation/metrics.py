# Made from docs/trust/robust.md (be1f8e37dfc1). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
from collections.abc import Hashable, Sequence

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from attention_book._checks import check_size
from attention_book.evaluation.columns import check_columns, members


__all__ = [
    "accuracy_by_group",
    "equalized_odds_difference",
    "expected_calibration_error",
]


def accuracy_by_group(
    right: Bool[Tensor, " n"], groups: Sequence[Hashable]
) -> dict[Hashable, float]:
    """Return which fraction of each group is right; the least is the worst.

    Raises:
        ValueError: Not one group for each answer, or no answers.

    Source: Sagawa et al. (2020), for worst-group accuracy.
    """
    check_columns(right=right, groups=groups)
    return {
        group: right[members(groups, group)].double().mean().item()
        for group in dict.fromkeys(groups)
    }


def equalized_odds_difference(
    predicted: Bool[Tensor, " n"],
    actual: Bool[Tensor, " n"],
    groups: Sequence[Hashable],
) -> float:
    """Return the largest gap between groups, of true or false positives.

    0 means that no group's rates differ, 1 that for one of the two answers
    what the model says is decided by the group alone.

    Raises:
        ValueError: Lengths differ, or a group has only one actual answer.

    Source: Hardt et al. (2016), definition 2.1.
    """
    check_columns(predicted=predicted, actual=actual, groups=groups)
    gaps = []
    for answer in (True, False):
        rates = []
        for group in dict.fromkeys(groups):
            rows = members(groups, group) & (actual == answer)
            if not rows.any():
                raise ValueError(
                    "each group must have both answers in actual, got no "
                    f"{answer} in {group!r}"
                )
            rates.append(predicted[rows].double().mean().item())
        gaps.append(max(rates) - min(rates))
    return max(gaps)


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
