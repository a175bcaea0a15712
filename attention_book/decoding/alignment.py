# Made from docs/chapters/13-decoding.md (debbd7d4c2e5). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
from collections.abc import Sequence
from typing import Any, cast

import torch
from jaxtyping import Float
from torch import Tensor

from attention_book.corpus.special_tokens import BOS
from attention_book.decoder import DecoderLayer
from attention_book.multi_head import MultiHeadAttention, attention_weights
from attention_book.transformer import Transformer


@torch.no_grad()
def cross_weights(
    model: Transformer, source: Sequence[int], target: Sequence[int]
) -> Float[Tensor, "layers heads target source"]:
    """Return where each head of each layer looks before each target word.

    target begins without <bos>: row j is where the model looked when it
    wrote target[j].
    """
    device = model.target_embedding.tokens.weight.device
    found = list[Tensor]()

    def keep(attention: MultiHeadAttention, inputs: tuple[Any, ...]) -> None:
        found.append(attention_weights(attention, *inputs)[0])

    layers = cast(list[DecoderLayer], list(model.decoder.layers))
    hooks = [
        layer.cross_attention.register_forward_pre_hook(keep)
        for layer in layers
    ]
    try:
        model(
            torch.tensor([source], device=device),
            torch.tensor([len(source)], device=device),
            torch.tensor([[BOS, *target[:-1]]], device=device),
        )
    finally:
        for hook in hooks:
            hook.remove()
    return torch.stack(found)
