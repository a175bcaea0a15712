# Made from docs/source/confidence.md (ddf4b5b7a88b). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""Alignment by cross-attention. Explained in the chapter "Decoding"."""

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from attention_book.interpret.probe import trace
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
    device = next(model.parameters()).device
    rows = [source], [len(source)], [[BOS, *target[:-1]]]
    inputs = [torch.tensor(row, device=device) for row in rows]
    seen = trace(model, inputs, ["decoder.*.cross_attention.weights"])
    return torch.cat([*seen.activations.values()])
