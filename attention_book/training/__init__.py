# Made from docs/chapters/43-training-loop.md (6b5a8f859834). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
from attention_book.training.config import Schedule, TrainingConfig
from attention_book.training.loading import (
    Batch,
    BatchLoader,
    Example,
    encode_pairs,
    make_batch,
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
    "Schedule",
    "Trainer",
    "TrainingConfig",
    "cross_entropy",
    "encode_pairs",
    "learning_rate_at",
    "make_batch",
    "translation_loss",
    "validation_loss",
]
