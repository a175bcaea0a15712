# Made from docs/source/training-images.md (b25504b05ef9). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from attention_book._checks import check_tensor
from attention_book.attention.multi_head import attention_weights
from attention_book.models.patches import Images
from attention_book.models.vit import ViT


__all__ = ["attention_maps", "rollout"]


@torch.no_grad()
def attention_maps(
    model: ViT, images: Images
) -> Float[Tensor, "layers batch heads tokens tokens"]:
    """Return the attention weights of all layers and heads."""
    x = model.tokens(images)
    maps = []
    layer: Any
    for layer in model.encoder.layers:
        norm = layer.residuals[0].norm
        maps.append(attention_weights(layer.self_attention, norm(x)))
        x = layer(x)
    return torch.stack(maps)


def rollout(
    weights: Float[Tensor, "layers batch heads tokens tokens"],
) -> Float[Tensor, "batch tokens tokens"]:
    """Attention rollout: the product of ½ A_l + ½ I over all layers l.

    A_l is the mean of the heads' weights, I stands for the residual
    connection. Row i says how much of each embedded token is in the last
    layer's token i, and sums to 1.

    Source: Abnar and Zuidema (2020), §3, eq. 1.
    """
    check_tensor("weights", weights)
    floating = weights.is_floating_point()
    square = weights.shape[-1:] == weights.shape[-2:-1]
    if weights.ndim != 5 or not (len(weights) and floating and square):
        raise ValueError(
            "weights must be (layers >= 1, batch, heads, tokens, tokens), "
            f"got shape {tuple(weights.shape)}"
        )
    mean = weights.mean(dim=2)
    identity = torch.eye(mean.shape[-1], dtype=mean.dtype, device=mean.device)
    flow = identity.expand_as(mean[0])
    for layer in mean:
        flow = (0.5 * layer + 0.5 * identity) @ flow
    return flow
