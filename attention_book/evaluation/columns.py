# Made from docs/source/perturbations.md (685c9f1e860a). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
from collections.abc import Hashable, Sequence

import torch
from jaxtyping import Bool
from torch import Tensor


__all__ = ["check_columns", "members"]


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
