# Made from docs/chapters/19-pretrained.md (6a52f6c07c84). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
from typing import NamedTuple

import torch
from torch import Tensor

from attention_book.tensor_files import Tensors, check_tensors


__all__ = ["Layout", "Place", "collect", "fill"]


class Place(NamedTuple):
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
    def copy_rows(self, start: int, rows: Tensor) -> None:
        """Copy rows of the file's tensor, from number start on, here."""
        if self.dim:
            sizes = [view.shape[self.dim] for view in self.views]
            parts = torch.split(rows, sizes, self.dim)
            for view, part in zip(self.views, parts, strict=True):
                view[start : start + len(rows)].copy_(part)
            return
        for view in self.views:
            end = min(start + len(rows), len(view))
            if start < end:
                view[start:end].copy_(rows[: end - start])
                rows = rows[end - start :]
            start = max(0, start - len(view))


Layout = dict[str, Place]  # by the names in the file


def fill(layout: Layout, tensors: Tensors) -> None:
    """Copy the tensors of a file into a model.

    Raises:
        ValueError: A tensor is missing, unknown, or of another shape.
    """
    wanted = {
        name: torch.empty(where.shape, device="meta")
        for name, where in layout.items()
    }
    check_tensors(tensors, wanted)
    for name, where in layout.items():
        where.copy_rows(0, tensors[name])


def collect(layout: Layout) -> Tensors:
    """Return the tensors of a file, out of a model."""
    return {name: where.join() for name, where in layout.items()}
