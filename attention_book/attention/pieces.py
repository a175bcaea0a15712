# Made from docs/source/processes.md (14ed064a675a). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""Pieces of a sequence that go from process to process, around a ring.

Explained in the chapter "Many devices", the code on the page "How processes
begin and end".
"""

from collections.abc import Iterator

import torch
import torch.distributed as dist
from torch import Tensor


__all__ = ["pass_on", "pieces"]


def pass_on(*tensors: Tensor) -> list[Tensor]:
    """Send tensors to the next process; return those of the one before."""
    rank, size = dist.get_rank(), dist.get_world_size()
    if size == 1:
        return list(tensors)
    leaving = [x.contiguous() for x in tensors]
    arriving = [torch.empty_like(x) for x in leaving]
    operations = []
    for old, new in zip(leaving, arriving, strict=True):
        to_next = dist.P2POp(dist.isend, old, (rank + 1) % size)
        from_last = dist.P2POp(dist.irecv, new, (rank - 1) % size)
        operations += [to_next, from_last]
    for request in dist.batch_isend_irecv(operations):
        request.wait()
    return arriving


def pieces(key: Tensor, value: Tensor) -> Iterator[tuple[int, Tensor, Tensor]]:
    """Give each piece of keys and values in turn, and the rank it belongs to.

    This process's own comes first.
    """
    rank, size = dist.get_rank(), dist.get_world_size()
    for turn in range(size):
        yield (rank - turn) % size, key, value
        if turn < size - 1:
            key, value = pass_on(key, value)
