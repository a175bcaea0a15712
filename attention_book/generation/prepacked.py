# Made from docs/source/fast-decoding.md (6fb89619cc89). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""Weights laid out for few rows. Explained in "Fast decoders"."""

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn


__all__ = ["PrepackedLinear", "replace_parts"]


def _can_prepack(weight: Tensor) -> bool:
    """Whether oneDNN can prepack this weight: fp32, on the CPU."""
    is_available: Callable[[], bool] = torch.backends.mkldnn.is_available
    has_operator = hasattr(torch.ops.mkldnn, "_linear_pointwise")
    is_fp32 = weight.is_cpu and weight.dtype == torch.float32
    return is_fp32 and is_available() and has_operator


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
        self.transposed = self.weight.t()
        if weight.shape[0] >= weight.shape[1]:  # else long rows are better
            self.transposed = self.transposed.contiguous()
        self.tiles: Tensor | None = None
        if _can_prepack(weight):
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


def replace_parts(
    model: nn.Module,
    kind: type[nn.Module],
    make: Callable[[Any], nn.Module],
) -> None:
    """Replace each part of that kind by what make makes of it."""
    for module in [*model.modules()]:
        for name, child in module.named_children():
            if isinstance(child, kind):
                setattr(module, name, make(child))
