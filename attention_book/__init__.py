# Made from docs/chapters/00-preface.md (65671d190ebe). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""Attention in all its forms: the tested code of the Attention Book."""

from attention_book.pooling import GaussianPooling, gaussian_pooling
from attention_book.scoring import (
    AdditiveAttention,
    attend,
    causal_mask,
    dot_product_attention,
    fused_attention,
    masked_softmax,
    padding_mask,
    scaled_dot_product_attention,
)

__version__ = "0.1.0"

__all__ = [
    "AdditiveAttention",
    "GaussianPooling",
    "attend",
    "causal_mask",
    "dot_product_attention",
    "fused_attention",
    "gaussian_pooling",
    "masked_softmax",
    "padding_mask",
    "scaled_dot_product_attention",
]
