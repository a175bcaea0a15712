# Made from docs/source/confidence.md (328b11214722). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""Alignment by cross-attention. Explained in the chapter "Decoding"."""

from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from attention_book.attention.multi_head import (
    MultiHeadAttention,
    attention_weights,
)
from attention_book.models.transformer import Transformer
from attention_book.tokenizers.special_tokens import BOS


__all__ = ["cross_weights"]


@torch.no_grad()
def cross_weights(
    model: Transformer, source: Sequence[int], target: Sequence[int]
) -> Float[Tensor, "layers heads target source"]:
    """Return the cross-attention weights of each layer for each target token.

    target begins without `<bos>`: row j holds the weights by which target[j]
    was generated. An empty target has the row of what would come first.
    """
    found: list[Tensor] = []

    def hook(attention: MultiHeadAttention, inputs: tuple[Any, ...]) -> None:
        found.append(attention_weights(attention, *inputs)[0])

    device = next(model.parameters()).device
    rows = [source], [len(source)], [[BOS, *target[:-1]]]
    with ExitStack() as hooks:  # removes them at its end
        for layer in model.decoder.layers:
            handle = layer.cross_attention.register_forward_pre_hook(hook)
            hooks.enter_context(handle)
        model(*(torch.tensor(row, device=device) for row in rows))
    return torch.stack(found)
