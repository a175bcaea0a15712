# Made from docs/trust/robust.md (243edff5c9d9). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""Accuracy by group, and whether confidence can be relied on.

Explained in the chapter "Robustness and fairness".
"""

from collections.abc import Hashable, Sequence

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from attention_book._checks import check_size


__all__ = [
    "accuracy_by_group",
    "equalized_odds_difference",
    "expected_calibration_error",
]


def _members(
    groups: Sequence[Hashable], group: Hashable
) -> Bool[Tensor, " n"]:
    """Say which rows are of a group."""
    return torch.tensor([other == group for other in groups])


def _check_columns(**columns: Tensor | Sequence[Hashable]) -> None:
    """Raise ValueError unless all are as long as the first, and not empty."""
    lengths = {name: len(column) for name, column in columns.items()}
    if len(set(lengths.values())) > 1 or 0 in lengths.values():
        raise ValueError(
            f"{' and '.join(columns)} must be of one length, not empty, got "
            f"{' and '.join(map(str, lengths.values()))}"
        )


def accuracy_by_group(
    right: Bool[Tensor, " n"], groups: Sequence[Hashable]
) -> dict[Hashable, float]:
    """Return which fraction of each group is right; the least is the worst.

    Raises:
        ValueError: Not one group for each answer, or no answers.

    Source: Sagawa et al. (2020), for worst-group accuracy.
    """
    _check_columns(right=right, groups=groups)
    return {
        group: right[_members(groups, group)].double().mean().item()
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
    _check_columns(predicted=predicted, actual=actual, groups=groups)
    gaps = []
    for answer in (True, False):
        rates = []
        for group in dict.fromkeys(groups):
            rows = _members(groups, group) & (actual == answer)
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
    _check_columns(confidence=confidence, right=right)
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
