# Made from docs/source/training-loop.md (430d2c560f3f). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
from contextlib import AbstractContextManager, nullcontext

from torch import Tensor, nn

from attention_book.training.config import TrainingConfig
from attention_book.training.objective import ModelWithLoss


__all__ = ["SINGLE_PROCESS", "ParallelStrategy"]


class ParallelStrategy:
    """How processes train one model together: here, one process alone.

    Attributes:
        rank: The number of this process, from 0.
        size: How many processes there are.
    """

    rank = 0
    size = 1

    def check(self, config: TrainingConfig) -> None:
        """Raise ValueError if the work can't be shared evenly."""

    def wrap(self, model_with_loss: ModelWithLoss) -> nn.Module:
        """Make backward passes average their gradients over processes."""
        return model_with_loss

    def gradient_sync(
        self, model_with_loss: nn.Module, last: bool
    ) -> AbstractContextManager[None]:
        """Within it, gradients are averaged in a step's last backward only."""
        return nullcontext()

    def reduce(self, number: Tensor) -> Tensor:
        """Add up a number over the processes."""
        return number

    def gather(self, tensor: Tensor) -> Tensor:
        """Put together a tensor whose shards lie with the processes."""
        return tensor


SINGLE_PROCESS = ParallelStrategy()
