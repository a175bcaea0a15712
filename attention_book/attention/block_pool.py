# Made from docs/fast/generating-fast.md (8a06ddb7ef14). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""Blocks of memory for caches. Explained in "Generating fast"."""

from collections.abc import Sequence

import torch

from attention_book._checks import check_size
from attention_book.attention.caches import KeyValue


__all__ = ["BlockPool", "OutOfBlocksError"]


class OutOfBlocksError(MemoryError):
    """Fewer blocks are free than were wanted; nothing has changed."""


class BlockPool:
    """Memory for the keys and values of a layer, in blocks that are lent.

    Keys and values have n_kv_heads heads of width d_k.

    Source: Kwon et al. (2023), §4.
    """

    def __init__(
        self,
        n_blocks: int,
        n_kv_heads: int,
        d_k: int,
        *,
        block_size: int = 16,
        dtype: torch.dtype = torch.float32,
        device: torch.device | str = "cpu",
    ) -> None:
        check_size("n_blocks", n_blocks)
        check_size("block_size", block_size)
        self.block_size = block_size
        shape = n_blocks, block_size, n_kv_heads, d_k
        both = torch.empty(2, *shape, dtype=dtype, device=device)
        self.buffer = KeyValue(*both)
        self.free = list(range(n_blocks))
        self.n_users = [0] * n_blocks

    def take(self, n: int) -> list[int]:
        """Lend n blocks; OutOfBlocksError, and none, if fewer are free."""
        if n > len(self.free):
            raise OutOfBlocksError(
                f"wanted {n} blocks of {self.block_size} positions, "
                f"{len(self.free)} of {len(self.n_users)} are free"
            )
        blocks = [self.free.pop() for _ in range(n)]
        self.share(blocks)
        return blocks

    def share(self, blocks: Sequence[int]) -> None:
        """Count one more user of each block."""
        for block in blocks:
            self.n_users[block] += 1

    def release(self, blocks: Sequence[int]) -> None:
        """Count one user less; a block without any is free."""
        for block in blocks:
            self.n_users[block] -= 1
            if self.n_users[block] == 0:
                self.free.append(block)
