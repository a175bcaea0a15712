# Made from docs/language/pretrained.md (fed5e8daabcf). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""Where the tensors of somebody else's file stand in a model of the book.

Explained in the chapter "Pretrained weights".
"""

from collections.abc import Mapping
from typing import NamedTuple

import torch
from torch import Tensor, nn

from attention_book.io.tensors import Tensors


__all__ = ["Layout", "WeightSlot", "collect", "map_weights"]


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


def _view(module: nn.Module, part: str, kind: str) -> Tensor:
    """Return a part's weight or bias; key and value are halves of kv_proj."""
    path, _, name = part.rpartition(".")
    if name in ("key", "value"):
        both = module.get_parameter(f"{path}.kv_proj.{kind}").detach()
        return both.chunk(2)[name == "value"]
    return module.get_parameter(f"{part}.{kind}").detach()


def map_weights(
    stem: str,
    module: nn.Module,
    names: Mapping[str, str],
    *,
    is_transposed: bool = False,
) -> Layout:
    """Return where weights and biases of a file stand in a module.

    Args:
        stem: What their names in the file begin with.
        module: A layer, or a whole model.
        names: For each name in the file, the parts of the module that it
            joins, with a plus sign between them.
        is_transposed: Whether matrices are (in, out), not (out, in).
    """
    layout: Layout = {}
    for name, parts in names.items():
        for kind in ("weight", "bias"):
            views = [_view(module, x, kind) for x in parts.split(" + ")]
            if is_transposed and views[0].ndim == 2:
                slot = WeightSlot(tuple(x.T for x in views), dim=1)
            else:
                slot = WeightSlot(tuple(views))
            layout[f"{stem}{name}.{kind}"] = slot
    return layout
