# Made from docs/trust/robust.md (db7412df26ff). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""Accuracy by group, and odds by group.

Explained in the chapter "Robustness and fairness".
"""

from collections.abc import Hashable, Sequence

import torch
from jaxtyping import Bool
from torch import Tensor

from attention_book._checks import check_columns


__all__ = ["accuracy_by_group", "equalized_odds_difference"]


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
        group: right[[other == group for other in groups]]
        .double()
        .mean()
        .item()
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
            rows = torch.tensor([other == group for other in groups])
            rows &= actual == answer
            if not rows.any():
                raise ValueError(
                    "each group must have both answers in actual, got no "
                    f"{answer} in {group!r}"
                )
            rates.append(predicted[rows].double().mean().item())
        gaps.append(max(rates) - min(rates))
    return max(gaps)
