# Made from docs/chapters/39-processes.md (ded0849b5197). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
from collections.abc import Mapping
from datetime import timedelta
from typing import Any, NamedTuple

import torch
import torch.distributed as dist

from attention_book.runtime import CPU, get_compute_config
from attention_book.scale_out import DataParallel, FullyShardedDataParallel
from attention_book.training.parallel import ParallelStrategy


DIST_BACKENDS = {"cpu": "gloo", "cuda": "nccl"}  # of numbers between processes


def device_of_rank(wanted: str, rank: int, size: int) -> torch.device:
    """Return the device of process number rank, of size on this machine.

    Raises:
        ValueError: There are fewer GPUs than processes, or none is asked for.
    """
    device = get_compute_config(wanted).device
    if wanted == "auto" and device.type not in DIST_BACKENDS:
        device = CPU
    if device.type not in DIST_BACKENDS or device.index is not None:
        raise ValueError(
            "device: processes that share the work take auto, "
            f"{' or '.join(DIST_BACKENDS)}, and each its own, got {wanted!r}"
        )
    if device.type == "cpu":
        return device
    try:
        get_compute_config(f"{device.type}:{size - 1}")
    except ValueError as error:
        raise ValueError(
            f"{size} processes on this machine: {error}"
        ) from None
    return torch.device(device.type, rank)


RANK_VARS = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE")
RENDEZVOUS_VARS = ("MASTER_ADDR", "MASTER_PORT")  # where the processes meet


class RankInfo(NamedTuple):
    """Which of how many processes this is: of all, and of its machine's."""

    rank: int
    size: int
    local_rank: int
    local_size: int


def get_rank_info(environment: Mapping[str, str]) -> RankInfo | None:
    """Read what torchrun told this process; None if it told nothing.

    Raises:
        ValueError: Something is missing, or makes no sense.
    """
    if not any(environment.get(name) for name in RANK_VARS):
        return None
    for name in (*RANK_VARS, *RENDEZVOUS_VARS):
        if not environment.get(name):
            raise ValueError(
                f"{name}: wanted what torchrun sets, together with "
                f"{', '.join(n for n in (*RANK_VARS, *RENDEZVOUS_VARS) if n != name)}, "
                "got nothing"
            )
    for name in RANK_VARS:
        if not environment[name].isdecimal():
            got = environment[name]
            raise ValueError(f"{name} must be a whole number, got {got!r}")
    seat = RankInfo(*(int(environment[name]) for name in RANK_VARS))
    numbers = dict(zip(RANK_VARS, seat, strict=True))
    for name, most in (RANK_VARS[:2], RANK_VARS[2:]):
        if numbers[name] >= numbers[most]:
            raise ValueError(
                f"{name} must be less than {most}, {numbers[most]}, "
                f"got {numbers[name]}"
            )
    return seat


TIMEOUT = timedelta(minutes=10)  # then a process counts as lost


def start(
    device: torch.device, seat: RankInfo, store: Any, sharded: bool
) -> ParallelStrategy:
    """Connect the processes."""
    number = device.index  # of the GPU
    if number is not None:
        torch.accelerator.set_device_index(number)
    dist.init_process_group(
        DIST_BACKENDS[device.type],
        store=store,
        rank=seat.rank,
        world_size=seat.size,
        timeout=TIMEOUT,
        device_id=None if number is None else device,
    )
    return FullyShardedDataParallel(device.type) if sharded else DataParallel()
