# Made from docs/chapters/36-fast-decoding.md (0d05998b6779). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
from collections.abc import Sequence

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor


Table = Int[Tensor, "rows length"]
Lengths = Int[Tensor, " rows"]


KeyValues = Sequence[Tensor]  # two of (rows, heads, words, d_k)


class DecodingState:
    """Translations under way: what was read, and what has been written.

    Args:
        sources: Keys and values of the sources, in all layers.
        mask: Which words of the sources are real, or None for all.
        places: What to add to the embeddings, place by place; as many words
            as there are places can be written.
    """

    def __init__(
        self,
        sources: Float[Tensor, "layers 2 rows heads source d_k"],
        mask: Bool[Tensor, "rows 1 1 source"] | None,
        places: Float[Tensor, "1 length d_model"],
    ) -> None:
        self.sources = sources
        self.mask = mask
        self.places = places
        self.length = 0
        capacity = places.shape[1]
        shape = (*sources.shape[:4], capacity, sources.shape[-1])
        self.words = sources.new_empty(shape)

    def __len__(self) -> int:
        return self.words.shape[2]

    @torch.inference_mode()
    def copy(self, rows: list[int], into: list[int]) -> None:
        """Write the state of some rows over that of others."""
        if rows:
            n = self.length
            self.sources[:, :, into] = self.sources[:, :, rows]
            self.words[:, :, into, :, :n] = self.words[:, :, rows, :, :n]
            if self.mask is not None:
                self.mask[into] = self.mask[rows]

    def repeat(self, n: int) -> None:
        """Make n rows of each, before anything is written."""
        self.sources = self.sources.repeat_interleave(n, dim=2)
        self.words = self.words.repeat_interleave(n, dim=2)
        if self.mask is not None:
            self.mask = self.mask.repeat_interleave(n, dim=0)

    def keep(self, n: int) -> None:
        """Keep the first n rows only."""
        self.sources = self.sources[:, :, :n]
        self.words = self.words[:, :, :n]
        self.mask = None if self.mask is None else self.mask[:n]


def check_lengths(lengths: Lengths, n_words: int) -> bool:
    """Return whether all are n_words; ValueError unless all are 1 to it."""
    shortest = int(lengths.min())
    longest = int(lengths.max())
    if not 1 <= shortest <= longest <= n_words:
        raise ValueError(f"lengths must be 1 to {n_words}, got {lengths}")
    return shortest == n_words
