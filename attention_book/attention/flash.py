# Made from docs/fast/flash.md (e868cb84010f). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""The book's kernel as a layer. Explained in "FlashAttention by hand"."""

from torch import Tensor

from attention_book.attention.caches import KeyValue
from attention_book.attention.flash_op import flash_attention
from attention_book.attention.multi_head import MultiHeadAttention


__all__ = ["FlashAttention"]


class FlashAttention(MultiHeadAttention):
    """Multi-head attention whose heads attend by flash_attention, on a GPU.

    A mask, dropout in training and values of another width, which it does not
    take, are left to fused_attention.
    """

    def attend(
        self, query: Tensor, kv: KeyValue, mask: Tensor | None, is_causal: bool
    ) -> Tensor:
        """Attend with every head."""
        drops = self.training and self.dropout > 0
        if mask is not None or drops or kv.key.shape != kv.value.shape:
            return super().attend(query, kv, mask, is_causal)
        return flash_attention(query, *kv, is_causal=is_causal)
