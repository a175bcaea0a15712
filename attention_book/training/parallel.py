# Made from docs/source/processes.md (bbab8e7cf06e). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""How processes share training.

The idea is explained in the chapter "Many devices", the code on the page "How
processes begin and end".
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.device_mesh import init_device_mesh
from torch.nn.parallel import DistributedDataParallel

from attention_book.training.config import TrainingConfig


__all__ = [
    "SINGLE_PROCESS",
    "DataParallel",
    "FullyShardedDataParallel",
    "ModelWithLoss",
    "ParallelStrategy",
    "recompute_layers",
]


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

    def wrap(
        self, model: nn.Module, loss_fn: Callable[..., Tensor]
    ) -> Callable[..., Tensor]:
        """Return the loss of a batch, whose gradients are averaged."""
        return partial(loss_fn, model)

    def gradient_sync(
        self, loss_of: Any, last: bool
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


class ModelWithLoss(nn.Module):
    """A model and its loss, so that both are one call."""

    def __init__(
        self, model: nn.Module, loss_fn: Callable[..., Tensor]
    ) -> None:
        super().__init__()
        self.model = model
        self.loss_fn = loss_fn

    def forward(self, batch: Any, label_smoothing: float = 0.0) -> Tensor:
        """Return the loss of a batch."""
        return self.loss_fn(self.model, batch, label_smoothing)


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

    def wrap(
        self, model: nn.Module, loss_fn: Callable[..., Tensor]
    ) -> Callable[..., Tensor]:
        """Average the gradients while the backward pass is under way."""
        return DistributedDataParallel(
            ModelWithLoss(model, loss_fn), gradient_as_bucket_view=True
        )

    def gradient_sync(
        self, loss_of: Any, last: bool
    ) -> AbstractContextManager[None]:
        """Within it, gradients are reduced in the last backward pass only."""
        no_sync: AbstractContextManager[None] = loss_of.no_sync()
        return nullcontext() if last else no_sync

    def reduce(self, number: Tensor) -> Tensor:
        """Add up a number of each process; the sum lies where it lay."""
        total = number.to(self.device, copy=True)
        dist.all_reduce(total)
        return total.to(number.device)


class FullyShardedDataParallel(DataParallel):
    """Each process keeps a shard of each parameter, gradient and average.

    Args:
        device: What this process computes on.
        gather_dtype: What parameters become before they are gathered, and
            layers compute in; None leaves them as they are, and the losses
            those of a single process. Gradients are reduced in fp32.

    Source: Rajbhandari et al. (2020), §5.3; PyTorch's fully_shard (FSDP2).
    """

    def __init__(
        self,
        device: torch.device | str = "cpu",
        gather_dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(device)
        self.gather_dtype = gather_dtype
        self.mesh = init_device_mesh(self.device.type, (self.size,))

    def wrap(
        self, model: Any, loss_fn: Callable[..., Tensor]
    ) -> Callable[..., Tensor]:
        """Shard each layer, and then, as one more layer, what is left."""
        from torch.distributed import fsdp  # takes a second

        policy = fsdp.MixedPrecisionPolicy(self.gather_dtype, torch.float32)
        model_with_loss = ModelWithLoss(model, loss_fn)
        layers = (*model.encoder.layers, *model.decoder.layers)
        for module in (*layers, model_with_loss):
            fsdp.fully_shard(
                module,
                mesh=self.mesh,
                reshard_after_forward=True,
                mp_policy=policy,
            )
        return model_with_loss

    @contextmanager
    def gradient_sync(self, loss_of: Any, last: bool) -> Iterator[None]:
        """Within it, gradients are reduced in the last backward pass only."""
        loss_of.set_requires_gradient_sync(last)
        loss_of.set_is_last_backward(last)
        yield

    def gather(self, tensor: Tensor) -> Tensor:
        """Put together a tensor whose shards lie with the processes."""
        from torch.distributed.tensor import DTensor

        return tensor.full_tensor() if isinstance(tensor, DTensor) else tensor


def recompute_layers(layers: Iterable[nn.Module]) -> None:
    """Keep only the input of each layer for the backward pass.

    There the layer is computed once more, with the same dropout: activation
    checkpointing, which changes no number.

    Source: Chen et al. (2016), §4.
    """
    from torch.utils.checkpoint import checkpoint

    for layer in layers:
        again = partial(checkpoint, layer.forward, use_reentrant=False)
        layer.forward = again
