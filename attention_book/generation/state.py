# Made from docs/fast/generating-fast.md (42ebc203f553). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
import torch
from jaxtyping import Bool, Float
from torch import Tensor


__all__ = ["DecodingState"]


class DecodingState:
    """The keys and values of translations that are being generated.

    Args:
        cross_kv: Keys and values of the sources, in all layers.
        source_mask: Which source tokens are real, or None for all.
        position_encodings: What is added to the embedding at each position;
            there can be as many tokens as it has positions.
    """

    def __init__(
        self,
        cross_kv: Float[Tensor, "layers 2 batch kv_heads source d_k"],
        source_mask: Bool[Tensor, "batch 1 1 source"] | None,
        position_encodings: Float[Tensor, "1 length d_model"],
    ) -> None:
        self.cross_kv = cross_kv
        self.source_mask = source_mask
        self.position_encodings = position_encodings
        self.length = 0
        capacity = position_encodings.shape[1]
        shape = (*cross_kv.shape[:4], capacity, cross_kv.shape[-1])
        self.self_kv = cross_kv.new_empty(shape)

    def __len__(self) -> int:
        """Return how many rows there are."""
        return self.self_kv.shape[2]

    @torch.inference_mode()
    def copy_rows(self, moved: list[int], into: list[int]) -> None:
        """Overwrite some rows by others."""
        if moved:
            n = self.length
            self.cross_kv[:, :, into] = self.cross_kv[:, :, moved]
            self.self_kv[:, :, into, :, :n] = self.self_kv[:, :, moved, :, :n]
            if self.source_mask is not None:
                self.source_mask[into] = self.source_mask[moved]

    def repeat(self, n: int) -> None:
        """Make n rows of each, before anything is generated."""
        self.cross_kv = self.cross_kv.repeat_interleave(n, dim=2)
        self.self_kv = self.self_kv.repeat_interleave(n, dim=2)
        if self.source_mask is not None:
            self.source_mask = self.source_mask.repeat_interleave(n, dim=0)

    def truncate(self, n: int) -> None:
        """Keep the first n rows only."""
        self.cross_kv = self.cross_kv[:, :, :n]
        self.self_kv = self.self_kv[:, :, :n]
        if self.source_mask is not None:
            self.source_mask = self.source_mask[:n]
