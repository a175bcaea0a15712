# Made from docs/chapters/15-vit.md (30913a0eee70). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
import torch
from jaxtyping import Float
from torch import Tensor

from attention_book.multi_head import attention_weights
from attention_book.vit.model import ViT
from attention_book.vit.patches import Images


@torch.no_grad()
def attention_maps(
    model: ViT, images: Images
) -> Float[Tensor, "layers batch heads tokens tokens"]:
    """Return how much each token looks at each other one, in all layers."""
    x = model.tokens(images)
    found = []
    for layer in model.encoder.layers:
        norm = layer.residuals[0].norm
        found.append(attention_weights(layer.self_attention, norm(x)))
        x = layer(x)
    return torch.stack(found)


def rollout(
    weights: Float[Tensor, "layers batch heads tokens tokens"],
) -> Float[Tensor, "batch tokens tokens"]:
    """Follow attention through all layers, back to the tokens at the bottom.

    A layer passes on half of what it heard, the mean of its heads, and half
    of what the token was, the residual; the product of the layers is how
    much of each token has come to each. Its rows sum to 1.

    Source: Abnar and Zuidema (2020), §3, eq. 1.
    """
    heard = weights.mean(dim=2)
    own = torch.eye(heard.shape[-1], dtype=heard.dtype, device=heard.device)
    flow = own.expand_as(heard[0])
    for layer in heard:
        flow = (0.5 * layer + 0.5 * own) @ flow
    return flow
