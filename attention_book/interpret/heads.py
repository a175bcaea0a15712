# Made from docs/trust/interpret.md (07fd10c25492). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""The heads of a model, and a model without some of them.

Explained in the chapter "Reading attention".
"""

import copy
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import torch
from torch import nn

from attention_book.attention.multi_head import MultiHeadAttention


__all__ = ["check_heads_of", "find_heads", "without_heads"]


_Model = TypeVar("_Model", bound=nn.Module)


def find_heads(model: nn.Module) -> dict[str, list[int]]:
    """Return the heads of each multi-head attention, under its name."""
    return {
        name: list(range(module.n_heads))
        for name, module in model.named_modules()
        if isinstance(module, MultiHeadAttention)
    }


def check_heads_of(
    model: nn.Module, heads: Mapping[str, Sequence[int]]
) -> None:
    """Raise ValueError unless the model has these heads."""
    there = find_heads(model)
    for name, numbers in heads.items():
        if not {*numbers} <= {*there.get(name, ())}:
            raise ValueError(
                f"heads must be of the model, as find_heads lists them, got "
                f"{list(numbers)} of {name!r}"
            )


@torch.no_grad()
def without_heads(model: _Model, heads: Mapping[str, Sequence[int]]) -> _Model:
    """Return a copy of a model in which these heads add nothing.

    Their rows of W^O, columns of out_proj.weight, are 0. Where all heads of
    a layer are silent its bias is 0 too, so that the layer adds nothing.

    Args:
        model: The model, which stays as it is.
        heads: For the name of a layer the numbers of heads, as find_heads
            returns them.

    Raises:
        ValueError: There is no such layer or head.

    Source: Michel et al. (2019), §2.3.
    """
    check_heads_of(model, heads)
    changed = copy.deepcopy(model)
    for name, numbers in heads.items():
        layer: Any = changed.get_submodule(name)
        columns = layer.out_proj.weight.unflatten(1, (layer.n_heads, -1))
        columns[:, list(numbers)] = 0
        bias = layer.out_proj.bias
        if bias is not None and len({*numbers}) == layer.n_heads:
            bias.zero_()
    return changed
