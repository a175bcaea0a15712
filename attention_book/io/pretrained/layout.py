# Made from docs/language/pretrained.md (670f8d611b3c). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""Where the tensors of somebody else's file stand in a model of the book.

Explained in the chapter "Pretrained weights".
"""

from typing import NamedTuple

import torch
from torch import Tensor

from attention_book.io.tensors import Tensors, check_tensors


__all__ = ["Layout", "WeightSlot", "collect", "load_tensors"]


class WeightSlot(NamedTuple):
    """Where the numbers of one tensor of a file stand in a model.

    Attributes:
        views: Parameters, or views of them, which share their memory.
        dim: The axis along which the file joins them.
    """

    views: tuple[Tensor, ...]
    dim: int = 0

    @property
    def shape(self) -> torch.Size:
        """The shape of the tensor that the file has."""
        shape = list(self.views[0].shape)
        shape[self.dim] = sum(view.shape[self.dim] for view in self.views)
        return torch.Size(shape)

    @torch.no_grad()
    def join(self) -> Tensor:
        """Return the tensor that the file has: a copy."""
        return torch.cat(self.views, self.dim)

    @torch.no_grad()
    def copy_rows(self, first: int, rows: Tensor) -> None:
        """Copy rows of the file's tensor here, from number first on."""
        if self.dim:
            sizes = [view.shape[self.dim] for view in self.views]
            pieces = torch.split(rows, sizes, self.dim)
            for view, piece in zip(self.views, pieces, strict=True):
                view[first : first + len(rows)].copy_(piece)
            return
        for view in self.views:
            end = min(first + len(rows), len(view))
            if first < end:
                view[first:end].copy_(rows[: end - first])
                rows = rows[end - first :]
            first = max(0, first - len(view))


Layout = dict[str, WeightSlot]  # by the names in the file


def load_tensors(layout: Layout, tensors: Tensors) -> None:
    """Copy the tensors of a file into a model.

    Raises:
        ValueError: A tensor is missing, unknown, or of another shape.
    """
    wanted = {
        name: torch.empty(slot.shape, device="meta")
        for name, slot in layout.items()
    }
    check_tensors(tensors, wanted)
    for name, slot in layout.items():
        slot.copy_rows(0, tensors[name])


def collect(layout: Layout) -> Tensors:
    """Return the tensors of a file, out of a model."""
    return {name: slot.join() for name, slot in layout.items()}
