# Made from docs/source/training-loop.md (11a2cda05ca7). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
from attention_book.training.config import Schedule, TrainingConfig
from attention_book.training.loading import (
    Batch,
    BatchLoader,
    Example,
    Prefetcher,
    encode_pairs,
    make_batch,
    to_device,
)
from attention_book.training.loop import BatchSource, Trainer, validation_loss
from attention_book.training.losses import cross_entropy
from attention_book.training.objective import (
    LossFunction,
    ModelWithLoss,
    translation_loss,
)
from attention_book.training.parallel import SINGLE_PROCESS, ParallelStrategy
from attention_book.training.schedule import learning_rate_at


__all__ = [
    "SINGLE_PROCESS",
    "Batch",
    "BatchLoader",
    "BatchSource",
    "Example",
    "LossFunction",
    "ModelWithLoss",
    "ParallelStrategy",
    "Prefetcher",
    "Schedule",
    "Trainer",
    "TrainingConfig",
    "cross_entropy",
    "encode_pairs",
    "learning_rate_at",
    "make_batch",
    "to_device",
    "translation_loss",
    "validation_loss",
]
