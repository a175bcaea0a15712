# Made from docs/source/training-loop.md (86e4f6dbd398). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""Training: configuration, batches, losses, the loop, several processes."""

from attention_book.training.config import TrainingConfig, learning_rate_at
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
from attention_book.training.losses import cross_entropy, translation_loss
from attention_book.training.parallel import SINGLE_PROCESS, ParallelStrategy
from attention_book.training.validation import validation_loss


__all__ = [
    "SINGLE_PROCESS",
    "Batch",
    "BatchSource",
    "Example",
    "ParallelStrategy",
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
