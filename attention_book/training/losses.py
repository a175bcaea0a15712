# Made from docs/transformer/training.md (3f4654b05c9e). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor

from attention_book._checks import check_loss_inputs


__all__ = ["cross_entropy"]


def cross_entropy(
    x: Float[Tensor, "tokens d_model"],
    weight: Float[Tensor, "vocab d_model"],
    targets: Int[Tensor, " tokens"],
    label_smoothing: float = 0.0,
) -> Float[Tensor, ""]:
    """Mean cross-entropy of the targets under the logits x Wᵀ.

    Args:
        x: The output of the decoder, one row for each target.
        weight: The output layer.
        targets: The right token ids.
        label_smoothing: Probability that is spread evenly over all tokens.

    Source: Szegedy et al. (2016), §7, for label smoothing.
    """
    check_loss_inputs(x, weight, targets, label_smoothing)
    logits = F.linear(x, weight).float()
    return F.cross_entropy(logits, targets, label_smoothing=label_smoothing)
