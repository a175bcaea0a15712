# Made from docs/source/training-loop.md (c23731d87876). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
from collections.abc import Callable
from typing import Any, Protocol, runtime_checkable

from jaxtyping import Float
from torch import Tensor, nn

from attention_book.attention.packed import PackedMask
from attention_book.models.decoder import teacher_forcing_pair
from attention_book.models.transformer import Transformer
from attention_book.training.loading import Batch
from attention_book.training.losses import cross_entropy


__all__ = ["LossFunction", "ModelWithLoss", "translation_loss"]


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
