# Made from docs/chapters/00-preface.md (ddc2c1a7e08f). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""Attention in all its forms: the tested code of the Attention Book."""

from attention_book.compared import ConvolutionAsAttention
from attention_book.decoder import Decoder, DecoderLayer
from attention_book.encoder import (
    Encoder,
    EncoderLayer,
    FeedForward,
    PostNorm,
    PreNorm,
    SwiGLU,
)
from attention_book.multi_head import (
    KeyValueCache,
    MultiHeadAttention,
    attention_weights,
)
from attention_book.pooling import GaussianPooling, gaussian_pooling
from attention_book.positions import (
    ALiBi,
    ALiBiAttention,
    LearnedPositions,
    Rotary,
    RotaryAttention,
    SinusoidalPositions,
)
from attention_book.recurrent import AttentiveSeq2Seq, Seq2Seq
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
from attention_book.transformer import Transformer, TransformerConfig

__version__ = "0.1.0"


__all__ = [
    "ALiBi",
    "ALiBiAttention",
    "AdditiveAttention",
    "AttentiveSeq2Seq",
    "ConvolutionAsAttention",
    "Decoder",
    "DecoderLayer",
    "Encoder",
    "EncoderLayer",
    "FeedForward",
    "GaussianPooling",
    "KeyValueCache",
    "LearnedPositions",
    "MultiHeadAttention",
    "PostNorm",
    "PreNorm",
    "Rotary",
    "RotaryAttention",
    "Seq2Seq",
    "SinusoidalPositions",
    "SwiGLU",
    "Transformer",
    "TransformerConfig",
    "attend",
    "attention_weights",
    "causal_mask",
    "dot_product_attention",
    "fused_attention",
    "gaussian_pooling",
    "masked_softmax",
    "padding_mask",
    "scaled_dot_product_attention",
]
