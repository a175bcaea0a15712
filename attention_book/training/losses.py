# Made from docs/chapters/12-training.md (1529b64c4952). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
from collections.abc import Callable
from typing import Any, Protocol, runtime_checkable

import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from attention_book.decoder import teacher_forcing_pair
from attention_book.padding import PackedMask
from attention_book.training.loading import Batch
from attention_book.transformer import Transformer


__all__ = [
    "LossFunction",
    "ModelWithLoss",
    "cross_entropy",
    "translation_loss",
]


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
    logits = F.linear(x, weight)
    return F.cross_entropy(
        logits.float(), targets, label_smoothing=label_smoothing
    )


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
    memory = model.encoder(memory, PackedMask(source, source))
    x = model.decoder(
        target.unpad(model.target_embedding(decoder_input)),
        memory,
        PackedMask(target, source),
        mask=PackedMask(target, target),
    )
    weight = model.target_embedding.tokens.weight
    return loss_fn(x, weight, target.unpad(labels), label_smoothing)


@runtime_checkable
class LossFunction(Protocol):
    """Takes a model, a batch, the label smoothing; returns a mean loss."""

    def __call__(
        self, model: Any, batch: Any, label_smoothing: float = 0.0, /
    ) -> Tensor: ...


class ModelWithLoss(nn.Module):
    """A model and its loss, so that both are one call."""

    def __init__(self, model: nn.Module, loss_fn: LossFunction) -> None:
        super().__init__()
        self.model = model
        self.loss_fn = loss_fn

    def forward(self, batch: Any, label_smoothing: float = 0.0) -> Tensor:
        """Return the loss of a batch."""
        return self.loss_fn(self.model, batch, label_smoothing)
