# Made from docs/source/processes.md (83e7b5b1c36c). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
from collections.abc import Mapping
from datetime import timedelta
from typing import Any, NamedTuple

import torch
import torch.distributed as dist

from attention_book.compute import get_compute_config
from attention_book.training.parallel import ParallelStrategy
from attention_book.training.scale_out import (
    DataParallel,
    FullyShardedDataParallel,
)


__all__ = [
    "DIST_BACKENDS",
    "RANK_VARS",
    "RENDEZVOUS_VARS",
    "TIMEOUT",
    "RankInfo",
    "device_of_rank",
    "get_rank_info",
]


RANK_VARS = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE")
RENDEZVOUS_VARS = ("MASTER_ADDR", "MASTER_PORT")  # where the processes meet
DIST_BACKENDS = {"cpu": "gloo", "cuda": "nccl"}
TIMEOUT = timedelta(minutes=10)  # then a process counts as lost


class RankInfo(NamedTuple):
    """Which of how many processes this is: of all, and of its machine's."""

    rank: int
    size: int
    local_rank: int
    local_size: int


def get_rank_info(environment: Mapping[str, str]) -> RankInfo | None:
    """Read what torchrun told this process; None if it told nothing.

    Raises:
        ValueError: A variable is missing, or makes no sense.
    """
    if not any(environment.get(name) for name in RANK_VARS):
        return None
    names = (*RANK_VARS, *RENDEZVOUS_VARS)
    for name in names:
        if not environment.get(name):
            others = ", ".join(other for other in names if other != name)
            raise ValueError(
                f"{name}: wanted what torchrun sets, together with {others}, "
                "got nothing"
            )
    for name in RANK_VARS:
        if not environment[name].isdecimal():
            got = environment[name]
            raise ValueError(f"{name} must be a whole number, got {got!r}")
    info = RankInfo(*(int(environment[name]) for name in RANK_VARS))
    values = dict(zip(RANK_VARS, info, strict=True))
    for name, limit in (RANK_VARS[:2], RANK_VARS[2:]):
        if values[name] >= values[limit]:
            raise ValueError(
                f"{name} must be less than {limit}, {values[limit]}, "
                f"got {values[name]}"
            )
    return info


def device_of_rank(
    wanted: str, local_rank: int, local_size: int
) -> torch.device:
    """Return the device of a process, one of local_size on this machine.

    Raises:
        ValueError: There are fewer GPUs than processes, or none is asked for.
    """
    device = get_compute_config(wanted).device
    if wanted == "auto" and device.type not in DIST_BACKENDS:
        device = torch.device("cpu")
    if device.type not in DIST_BACKENDS or device.index is not None:
        raise ValueError(
            "device: processes that share the work take auto, "
            f"{' or '.join(DIST_BACKENDS)}, and each its own, got {wanted!r}"
        )
    if device.type == "cpu":
        return device
    try:
        get_compute_config(f"{device.type}:{local_size - 1}")
    except ValueError as error:
        raise ValueError(
            f"{local_size} processes on this machine: {error}"
        ) from None
    return torch.device(device.type, local_rank)


def _init_process_group(
    device: torch.device, info: RankInfo, store: Any, sharded: bool
) -> ParallelStrategy:
    """Connect the processes; return how they share the work."""
    index = device.index  # of the GPU
    if index is not None:
        torch.accelerator.set_device_index(index)
    dist.init_process_group(
        DIST_BACKENDS[device.type],
        store=store,
        rank=info.rank,
        world_size=info.size,
        timeout=TIMEOUT,
        device_id=None if index is None else device,
    )
    kind = FullyShardedDataParallel if sharded else DataParallel
    return kind(device)
