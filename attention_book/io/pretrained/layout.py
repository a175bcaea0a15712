# Made from docs/language/pretrained.md (806deafd0482). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
from typing import NamedTuple

import torch
from torch import Tensor

from attention_book.io.tensor_files import Tensors, check_tensors


__all__ = ["JoinedViews", "Layout", "collect", "load_tensors"]


class JoinedViews(NamedTuple):
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
    def copy_rows(self, first: int, some: Tensor) -> None:
        """Copy rows of the file's tensor here, from number first on."""
        if self.dim:
            sizes = [view.shape[self.dim] for view in self.views]
            pieces = torch.split(some, sizes, self.dim)
            for view, piece in zip(self.views, pieces, strict=True):
                view[first : first + len(some)].copy_(piece)
            return
        for view in self.views:
            end = min(first + len(some), len(view))
            if first < end:
                view[first:end].copy_(some[: end - first])
                some = some[end - first :]
            first = max(0, first - len(view))


Layout = dict[str, JoinedViews]  # by the names in the file


def load_tensors(layout: Layout, tensors: Tensors) -> None:
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
