# Made from docs/chapters/23-scale-out.md (86a109ed3326). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.device_mesh import init_device_mesh
from torch.nn.parallel import DistributedDataParallel

from attention_book.training.config import TrainingConfig
from attention_book.training.losses import ModelWithLoss
from attention_book.training.parallel import ParallelStrategy


class DataParallel(ParallelStrategy):
    """Each process has the whole model; their gradients are averaged.

    Source: Li et al. (2020), §3.2.
    """

    def __init__(self) -> None:
        self.rank = dist.get_rank()
        self.size = dist.get_world_size()

    def check(self, config: TrainingConfig) -> None:
        """Raise ValueError if the work can not be shared evenly."""
        if config.accumulation_steps % self.size:
            raise ValueError(
                "accumulation_steps must be a multiple of the number of processes, "
                f"{self.size}, got {config.accumulation_steps}"
            )

    def wrap(self, model_with_loss: ModelWithLoss) -> nn.Module:
        """Average the gradients while the backward pass is under way."""
        return DistributedDataParallel(
            model_with_loss, gradient_as_bucket_view=True
        )

    def gradient_sync(
        self, model_with_loss: nn.Module, last: bool
    ) -> AbstractContextManager[None]:
        """Within it, gradients are shared in the last backward pass only."""
        if last or not isinstance(model_with_loss, DistributedDataParallel):
            return nullcontext()
        return model_with_loss.no_sync()

    def reduce(self, number: Tensor) -> Tensor:
        """Add up a number of each process."""
        total = number.clone()
        dist.all_reduce(total)
        return total


class FullyShardedDataParallel(DataParallel):
    """Each process keeps a part of every parameter, gradient and average.

    Args:
        device: What the processes compute on: cpu or cuda.

    Source: Rajbhandari et al. (2020), §5.3; Zhao et al. (2023), §3.
    """

    def __init__(self, device: str) -> None:
        super().__init__()
        self.mesh = init_device_mesh(device, (self.size,))

    def wrap(self, model_with_loss: ModelWithLoss) -> nn.Module:
        """Cut up each layer, and then, as one more layer, what is left."""
        from torch.distributed.fsdp import fully_shard  # takes a second

        model: Any = model_with_loss.model
        layers = (*model.encoder.layers, *model.decoder.layers)
        for part in (*layers, model_with_loss):
            fully_shard(part, mesh=self.mesh, reshard_after_forward=True)
        return model_with_loss

    @contextmanager
    def gradient_sync(
        self, model_with_loss: Any, last: bool
    ) -> Iterator[None]:
        """Within it, gradients are shared in the last backward pass only."""
        model_with_loss.set_requires_gradient_sync(last)
        model_with_loss.set_is_last_backward(last)
        yield

    def gather(self, number: Tensor) -> Tensor:
        """Put together a number whose parts lie with the processes."""
        from torch.distributed.tensor import DTensor

        return number.full_tensor() if isinstance(number, DTensor) else number
