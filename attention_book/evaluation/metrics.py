# Made from docs/trust/robust.md (3a215ff71cfc). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""Accuracy and its fairness, by group.

Explained in the chapter "Robustness and fairness".
"""

from collections.abc import Hashable, Sequence

import torch
from jaxtyping import Bool
from torch import Tensor


__all__ = [
    "accuracy_by_group",
    "check_columns",
    "equalized_odds_difference",
    "members",
]


def members(groups: Sequence[Hashable], group: Hashable) -> Bool[Tensor, " n"]:
    """Say which rows are of a group."""
    return torch.tensor([other == group for other in groups])


def check_columns(**columns: Tensor | Sequence[Hashable]) -> None:
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
