# Made from docs/source/fast-decoding.md (a1e3caf1c18c). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""A cache in blocks of a pool. Explained in "Fast decoders"."""

import sys

import torch
from torch import Tensor

from attention_book._checks import check_cached
from attention_book.attention.block_pool import BlockPool
from attention_book.attention.caches import KeyValue, KeyValueCache


__all__ = ["PagedCache"]


class PagedCache(KeyValueCache):
    """Keys and values of one sequence, in blocks that its table names.

    Args:
        pool: Where its blocks come from.

    Attributes:
        table: Which block holds the first positions, which the next, ….
    """

    def __init__(self, pool: BlockPool) -> None:
        super().__init__(len(pool.n_users) * pool.block_size)
        self.pool = pool
        self.table: list[int] = []

    def append(self, key: Tensor, value: Tensor) -> KeyValue:
        """Store some positions and return a copy of all so far.

        Raises:
            OutOfBlocksError: They do not fit; nothing is stored, or lost.
            ValueError: Their shape or dtype is not that of the pool.
        """
        pool, size, first = self.pool, self.pool.block_size, int(self.length)
        block = KeyValue(*(x[:1].transpose(1, 2) for x in pool.buffer))
        check_cached(sys.maxsize, first, key, value, block)
        end = first + key.shape[-2]
        n_kept = -(-first // size)  # blocks; more are there after a cut
        pool.release(self.table[n_kept:])
        del self.table[n_kept:]
        is_shared = False
        if end > first and first % size > 0:
            is_shared = pool.n_users[self.table[-1]] > 1
        blocks = pool.take(-(-end // size) - n_kept + is_shared)
        if is_shared:  # others read the last block: go on in a copy of it
            old, self.table[-1] = self.table[-1], blocks.pop()
            for x in pool.buffer:
                x[self.table[-1]] = x[old]
            pool.release([old])
        self.table += blocks
        self.length = end
        table = torch.tensor(self.table, device=key.device)
        places = torch.arange(first, end, device=key.device)
        found = []
        for x, new in zip(pool.buffer, (key, value), strict=True):
            x[table[places // size], places % size] = new[0].transpose(0, 1)
            found.append(x[table].flatten(0, 1)[:end].transpose(0, 1)[None])
        return KeyValue(*found)

    def fork(self) -> "PagedCache":
        """Return a cache of the same positions, in the same blocks."""
        other = PagedCache(self.pool)
        n = int(self.length)
        other.length = n
        other.table = self.table[: -(-n // self.pool.block_size)]
        self.pool.share(other.table)
        return other

    def release(self) -> None:
        """Give all blocks back, and be empty."""
        self.pool.release(self.table)
        self.table = []
        self.length = 0
