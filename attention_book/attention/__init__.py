# Made from docs/fast/flash.md (cbb950e71bfc). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""Attention, from its formula to its kernels."""

from attention_book.attention.fused import fused_attention


__all__ = ["fused_attention"]
