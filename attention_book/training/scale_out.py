# Made from docs/fast/many-devices.md (6ab8b041cc6a). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.device_mesh import init_device_mesh
from torch.nn.parallel import DistributedDataParallel

from attention_book.training.config import TrainingConfig
from attention_book.training.objective import ModelWithLoss
from attention_book.training.parallel import ParallelStrategy


__all__ = ["DataParallel", "FullyShardedDataParallel"]


class DataParallel(ParallelStrategy):
    """Each process has the whole model; their gradients are averaged (DDP).

    Args:
        device: What this process computes on.

    Source: Li et al. (2020), §3.2.
    """

    def __init__(self, device: torch.device | str = "cpu") -> None:
        self.device = torch.device(device)
        self.rank = dist.get_rank()
        self.size = dist.get_world_size()

    def check(self, config: TrainingConfig) -> None:
        """Raise ValueError if the work can't be shared evenly."""
        if config.accumulation_steps % self.size:
            raise ValueError(
                "accumulation_steps must be a multiple of the number of "
                f"processes, {self.size}, got {config.accumulation_steps}"
            )

    def wrap(self, model_with_loss: ModelWithLoss) -> nn.Module:
        """Average the gradients while the backward pass is under way."""
        return DistributedDataParallel(
            model_with_loss, gradient_as_bucket_view=True
        )

    def gradient_sync(
        self, model_with_loss: nn.Module, last: bool
    ) -> AbstractContextManager[None]:
        """Within it, gradients are reduced in the last backward pass only."""
        if last or not isinstance(model_with_loss, DistributedDataParallel):
            return nullcontext()
        return model_with_loss.no_sync()

    def reduce(self, number: Tensor) -> Tensor:
        """Add up a number of each process; the sum lies where it lay."""
        total = number.to(self.device, copy=True)
        dist.all_reduce(total)
        return total.to(number.device)


class FullyShardedDataParallel(DataParallel):
    """Each process keeps a shard of each parameter, gradient and average.

    Args:
        device: What this process computes on.

    Source: Rajbhandari et al. (2020), §5.3; PyTorch's fully_shard (FSDP2).
    """

    def __init__(self, device: torch.device | str = "cpu") -> None:
        super().__init__(device)
        self.mesh = init_device_mesh(self.device.type, (self.size,))

    def wrap(self, model_with_loss: ModelWithLoss) -> nn.Module:
        """Shard each layer, and then, as one more layer, what is left."""
        from torch.distributed.fsdp import fully_shard  # takes a second

        model: Any = model_with_loss.model
        layers = (*model.encoder.layers, *model.decoder.layers)
        for module in (*layers, model_with_loss):
            fully_shard(module, mesh=self.mesh, reshard_after_forward=True)
        return model_with_loss

    @contextmanager
    def gradient_sync(
        self, model_with_loss: Any, last: bool
    ) -> Iterator[None]:
        """Within it, gradients are reduced in the last backward pass only."""
        model_with_loss.set_requires_gradient_sync(last)
        model_with_loss.set_is_last_backward(last)
        yield

    def gather(self, tensor: Tensor) -> Tensor:
        """Put together a tensor whose shards lie with the processes."""
        from torch.distributed.tensor import DTensor

        return tensor.full_tensor() if isinstance(tensor, DTensor) else tensor
