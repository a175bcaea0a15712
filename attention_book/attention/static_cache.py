# Made from docs/source/fast-decoding.md (d98d1763ff4d). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""A cache whose shapes never change. Explained in "Fast decoders"."""

import torch
from jaxtyping import Int
from torch import Tensor

from attention_book._checks import check_cached
from attention_book.attention.caches import KeyValue, KeyValueCache


__all__ = ["StaticKeyValueCache"]


class StaticKeyValueCache(KeyValueCache):
    """A cache whose shapes never change and whose length is a tensor.

    Args:
        capacity: Most positions it can hold.
        length: How many are taken; its owner advances it.
    """

    length: Int[Tensor, ""]

    def __init__(self, capacity: int, length: Int[Tensor, ""]) -> None:
        super().__init__(capacity)
        self.length = length

    def append(self, key: Tensor, value: Tensor) -> KeyValue:
        """Store some positions and return the whole buffer.

        Raises:
            ValueError: They do not fit; nothing is stored.
        """
        check_cached(self.capacity, self.length, key, value, self.buffer)
        if self.buffer is None:
            batch = (*key.shape[:-2], self.capacity)
            self.buffer = KeyValue(
                *(x.new_zeros(*batch, x.shape[-1]) for x in (key, value))
            )
        positions = self.length.view(1)  # of one token
        if (n := key.shape[-2]) != 1:
            positions = torch.arange(n, device=key.device) + self.length
        self.buffer.key.index_copy_(-2, positions, key)
        self.buffer.value.index_copy_(-2, positions, value)
        return self.buffer
