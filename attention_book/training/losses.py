# Made from docs/transformer/training.md (0bba92d864b6). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""The loss of translations. Explained in the chapter "Training"."""

from collections.abc import Callable

import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor

from attention_book._checks import check_rate
from attention_book.attention.packed import PackedLayout
from attention_book.models.decoder import teacher_forcing_pair
from attention_book.models.transformer import Transformer
from attention_book.training.loading import Batch


__all__ = ["cross_entropy", "translation_loss"]


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
    check_rate("label_smoothing", label_smoothing)
    logits = F.linear(x, weight).float()
    return F.cross_entropy(logits, targets, label_smoothing=label_smoothing)


def translation_loss(
    model: Transformer,
    batch: Batch,
    label_smoothing: float = 0.0,
    loss_fn: Callable[[Tensor, Tensor, Tensor, float], Tensor] = cross_entropy,
) -> Float[Tensor, ""]:
    """Mean cross-entropy of each next token, given the right ones so far."""
    decoder_input, labels = teacher_forcing_pair(batch.target)
    source = batch.source_layout
    target = batch.target_layout
    memory = source.unpad(model.source_embedding(batch.source))
    memory = model.encoder(memory, PackedLayout(source, source))
    x = model.decoder(
        target.unpad(model.target_embedding(decoder_input)),
        memory,
        PackedLayout(target, source),
        mask=PackedLayout(target, target),
    )
    weight = model.target_embedding.tokens.weight
    return loss_fn(x, weight, target.unpad(labels), label_smoothing)
