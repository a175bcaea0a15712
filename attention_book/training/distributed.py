# Made from docs/source/processes.md (95ca2ff67f40). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""Processes that train one model: how they begin, agree, save and end.

Explained on the page "How processes begin and end".
"""

import copy
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta

import torch
import torch.distributed as dist
from torch.distributed.elastic.multiprocessing.errors import get_error_handler

from attention_book.compute import get_compute_config
from attention_book.training.loop import Trainer
from attention_book.training.parallel import (
    SINGLE_PROCESS,
    DataParallel,
    FullyShardedDataParallel,
    ParallelStrategy,
)


__all__ = [
    "check_agreement",
    "device_of_rank",
    "load_trainer",
    "process_group",
    "save_trainer",
]


_BACKENDS = {"cpu": "gloo", "cuda": "nccl"}
_TIMEOUT = timedelta(minutes=10)  # then a process counts as lost


def device_of_rank(wanted: str, local_rank: int) -> torch.device:
    """Return the device of a process, one of several on this machine.

    Raises:
        ValueError: There is no GPU for this process, or one is asked for
            that can't be shared.
    """
    device = get_compute_config(wanted).device
    if wanted == "auto" and device.type not in _BACKENDS:
        device = torch.device("cpu")
    if device.type not in _BACKENDS or device.index is not None:
        raise ValueError(
            "device: processes that share the work take auto, "
            f"{' or '.join(_BACKENDS)}, and each its own, got {wanted!r}"
        )
    if device.type == "cpu":
        return device
    return get_compute_config(f"{device.type}:{local_rank}").device


@contextmanager
def process_group(
    device: str = "auto",
    *,
    sharded: bool = False,
    gather_dtype: torch.dtype | None = None,
) -> Iterator[tuple[ParallelStrategy, str]]:
    """Join the processes of torchrun; give strategy and device.

    Started otherwise, the process is alone.

    Args:
        device: auto, cpu or cuda.
        sharded: Whether each process keeps a shard of the model only (FSDP).
        gather_dtype: Of FullyShardedDataParallel.

    Raises:
        ConnectionError: In it, another process has ended.
    """
    if "RANK" not in os.environ:
        if sharded:
            raise ValueError("sharded: wanted torchrun, got one process")
        yield SINGLE_PROCESS, device
        return
    try:
        own = device_of_rank(device, int(os.environ.get("LOCAL_RANK", 0)))
        on_gpu = own.type == "cuda"
        if on_gpu:
            torch.cuda.set_device(own)
        dist.init_process_group(
            _BACKENDS[own.type],
            timeout=_TIMEOUT,
            device_id=own if on_gpu else None,
        )
        if sharded:
            yield FullyShardedDataParallel(own, gather_dtype), str(own)
        else:
            yield DataParallel(own), str(own)
    except Exception as error:
        if isinstance(error, dist.DistError) or "/gloo/" in str(error):
            raise ConnectionError(
                "another process of this run has ended; the same command "
                "goes on from the last checkpoint"
            ) from error
        get_error_handler().record_exception(error)
        raise
    dist.destroy_process_group()


def check_agreement(strategy: ParallelStrategy, mine: object) -> None:
    """Raise ValueError unless all processes say the same of what they do."""
    if strategy is SINGLE_PROCESS:
        return
    said: list[object] = [None] * strategy.size
    dist.all_gather_object(said, mine)
    if any(other != mine for other in said):
        raise ValueError(
            "corpus, config, model and checkpoint must be the same in all "
            "processes, got others elsewhere"
        )


def _whole_copy(trainer: Trainer) -> Trainer:
    """Return the trainer with an unsharded model of its own, on the CPU."""
    whole = copy.copy(trainer)
    with torch.random.fork_rng(devices=[]):  # the weights will be replaced
        whole.model = type(trainer.model)(trainer.model.config)
    whole.optimizer = torch.optim.AdamW(
        whole.model.parameters(),
        betas=trainer.config.betas,
        weight_decay=trainer.config.weight_decay,
        fused=True,  # as the trainer's, which takes over the options
    )
    return whole


def save_trainer(trainer: Trainer, save: Callable[[Trainer], object]) -> None:
    """Have the first process write the whole; all call it, and all wait.

    Args:
        trainer: Whose model may be sharded.
        save: Is given a trainer whose model is not; save_checkpoint, say,
            with its other arguments filled in.
    """
    from torch.distributed.checkpoint import state_dict as states

    strategy = trainer.strategy
    whole = trainer
    if isinstance(strategy, FullyShardedDataParallel):
        options = states.StateDictOptions(
            full_state_dict=True, cpu_offload=True
        )
        both = trainer.model, trainer.optimizer
        model = states.get_model_state_dict(trainer.model, options=options)
        optimizer = {}
        if trainer.losses:
            optimizer = states.get_optimizer_state_dict(*both, options=options)
        if strategy.rank == 0:
            whole = _whole_copy(trainer)
            whole.model.load_state_dict(model)
            if optimizer:
                states.set_optimizer_state_dict(
                    whole.model, whole.optimizer, optimizer
                )
    if strategy.rank == 0:
        save(whole)
    strategy.reduce(torch.zeros((), device=trainer.device)).item()


def load_trainer(trainer: Trainer, read: Callable[[Trainer], object]) -> None:
    """Restore a trainer, in however many processes, from a whole one.

    Args:
        trainer: Whose model may be sharded.
        read: Restores a trainer whose model is not; load_checkpoint, say.
    """
    from torch.distributed.checkpoint import state_dict as states

    if not isinstance(trainer.strategy, FullyShardedDataParallel):
        read(trainer)
        return
    whole = _whole_copy(trainer)
    read(whole)
    options = states.StateDictOptions(full_state_dict=True, strict=False)
    model = dict(whole.model.named_parameters())  # tied ones only once
    states.set_model_state_dict(trainer.model, model, options=options)
    if whole.losses:
        optimizer = states.get_optimizer_state_dict(
            whole.model, whole.optimizer
        )
        states.set_optimizer_state_dict(
            trainer.model, trainer.optimizer, optimizer, options=options
        )
    trainer.load_state_dict(whole.state_dict())
