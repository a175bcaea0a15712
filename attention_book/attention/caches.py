# Made from docs/fast/cache.md (6fc1c6eb8e32). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""Caches of keys and values. Explained in "The key–value cache"."""

from collections.abc import Sequence
from itertools import combinations
from typing import NamedTuple

from jaxtyping import Int
from torch import Tensor

from attention_book._checks import check_cached, check_size


__all__ = ["KeyValue", "KeyValueCache", "Offset", "per_layer"]


Offset = int | Int[Tensor, ""]  # position of the first token, from 0


class KeyValue(NamedTuple):
    """Keys and values of all heads, ready to be attended to."""

    key: Tensor  # (*batch, n_kv_heads, keys, d_k)
    value: Tensor  # (*batch, n_kv_heads, keys, d_v)


class KeyValueCache:
    """A preallocated buffer for the keys and values of a growing sequence.

    Use it under torch.no_grad(): it is changed in place.

    Args:
        capacity: Most positions it can hold. Batch, heads, dtype and device
            are those of the first keys, widths of the first pair.
    """

    def __init__(self, capacity: int) -> None:
        check_size("capacity", capacity)
        self.capacity = capacity
        self.length: Offset = 0
        self.buffer: KeyValue | None = None

    def append(self, key: Tensor, value: Tensor) -> KeyValue:
        """Store some positions and return all so far, without a copy.

        Raises:
            ValueError: They do not fit; nothing is stored.
        """
        check_cached(self.capacity, self.length, key, value, self.buffer)
        first = int(self.length)
        end = first + key.shape[-2]
        if self.buffer is None:
            batch = (*key.shape[:-2], self.capacity)
            self.buffer = KeyValue(
                *(x.new_empty(*batch, x.shape[-1]) for x in (key, value))
            )
        self.buffer.key[..., first:end, :] = key
        self.buffer.value[..., first:end, :] = value
        self.length = end
        return KeyValue(*(x[..., :end, :] for x in self.buffer))


def per_layer(
    caches: Sequence[KeyValueCache | None] | None, n_layers: int
) -> Sequence[KeyValueCache | None]:
    """Return the caches, or a None for each layer; refuse one used twice."""
    if caches is None:
        return [None] * n_layers
    for one, other in combinations(caches, 2):
        if one is other and one is not None:
            raise ValueError("caches must be one a layer, got one twice")
    return caches
