# Made from docs/fast/generating-fast.md (123b242dfde6). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn


__all__ = [
    "PrepackedLinear",
    "can_prepack",
    "prepack_linears",
    "remove_dropout",
]


def can_prepack(weight: Tensor) -> bool:
    """Whether oneDNN can prepack this weight: fp32, on the CPU."""
    is_available: Callable[[], bool] = torch.backends.mkldnn.is_available
    if not is_available() or not hasattr(
        torch.ops.mkldnn, "_linear_pointwise"
    ):
        return False
    return weight.is_cpu and weight.dtype == torch.float32


class PrepackedLinear(nn.Module):
    """A linear layer for few rows, its weights rearranged for them.

    Args:
        weight: Of shape (out, in), as in nn.Linear.
        bias: Of shape (out,), or None.
    """

    def __init__(self, weight: Tensor, bias: Tensor | None = None) -> None:
        super().__init__()
        self.weight = weight.detach()
        self.bias = bias
        self.transposed = self.weight.t().contiguous()
        self.tiles: Tensor | None = None
        if can_prepack(weight):
            self.tiles = torch.ops.mkldnn._reorder_linear_weight(self.weight)

    def forward(
        self, x: Float[Tensor, "*batch n_in"]
    ) -> Float[Tensor, "*batch n_out"]:
        """Return x Wᵀ + b."""
        if x.ndim == 2 and len(x) == 1:  # a single row
            y = torch.mm(x, self.transposed)
            return y if self.bias is None else y.add_(self.bias)
        if self.tiles is None:
            return F.linear(x, self.weight, self.bias)
        return torch.ops.mkldnn._linear_pointwise(
            x, self.tiles, self.bias, "none", [], ""
        )

    def __reduce__(self) -> tuple[Any, ...]:
        """Copy and pickle as what it was made from: tiles can be neither."""
        return PrepackedLinear, (self.weight, self.bias)

    __call__ = forward  # skips nn.Module's __call__, which looks for hooks


def prepack_linears(module: nn.Module) -> None:
    """Replace each nn.Linear by a PrepackedLinear."""
    for name, child in module.named_children():
        if isinstance(child, nn.Linear):
            setattr(module, name, PrepackedLinear(child.weight, child.bias))
        else:
            prepack_linears(child)


def remove_dropout(module: nn.Module) -> None:
    """Replace each nn.Dropout, which in inference does nothing."""
    for name, child in module.named_children():
        if isinstance(child, nn.Dropout):
            setattr(module, name, nn.Identity())
        else:
            remove_dropout(child)
