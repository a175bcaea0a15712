# Made from docs/source/training-loop.md (baa377c2a27a). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""Training: configuration, batches, losses, the loop, several processes."""

from attention_book.training.config import Schedule, TrainingConfig
from attention_book.training.loading import (
    Batch,
    BatchSource,
    Example,
    TranslationBatches,
    encode_pairs,
    make_batch,
    to_device,
)
from attention_book.training.loop import Trainer
from attention_book.training.losses import (
    LossFunction,
    cross_entropy,
    translation_loss,
)
from attention_book.training.parallel import SINGLE_PROCESS, ParallelStrategy
from attention_book.training.schedule import learning_rate_at
from attention_book.training.validation import validation_loss


__all__ = [
    "SINGLE_PROCESS",
    "Batch",
    "BatchLoader",
    "BatchSource",
    "Example",
    "LossFunction",
    "ParallelStrategy",
    "Schedule",
    "Trainer",
    "TrainingConfig",
    "TranslationBatches",
    "cross_entropy",
    "encode_pairs",
    "learning_rate_at",
    "make_batch",
    "to_device",
    "translation_loss",
    "validation_loss",
]

BatchLoader = TranslationBatches  # its former name
