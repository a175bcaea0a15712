# Made from docs/language/pretrained.md (5faafd823c9b). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""Where the tensors of somebody else's file stand in a model of the book.

Explained in the chapter "Pretrained weights".
"""

from typing import NamedTuple

import torch
from torch import Tensor

from attention_book.io.tensors import Tensors


__all__ = ["Layout", "WeightSlot", "collect"]


class WeightSlot(NamedTuple):
    """Where the numbers of one tensor of a file stand in a model.

    Attributes:
        views: Parameters, or views of them, which share their memory.
        dim: The axis along which the file joins them.
    """

    views: tuple[Tensor, ...]
    dim: int = 0

    @torch.no_grad()
    def join(self) -> Tensor:
        """Return the tensor that the file has: a copy."""
        return torch.cat(self.views, self.dim)

    @torch.no_grad()
    def copy_from(self, tensor: Tensor) -> None:
        """Copy the file's tensor here."""
        sizes = [view.shape[self.dim] for view in self.views]
        pieces = torch.split(tensor, sizes, self.dim)
        for view, piece in zip(self.views, pieces, strict=True):
            view.copy_(piece)


Layout = dict[str, WeightSlot]  # by the names in the file


def collect(layout: Layout) -> Tensors:
    """Return the tensors of a file, out of a model."""
    return {name: slot.join() for name, slot in layout.items()}
