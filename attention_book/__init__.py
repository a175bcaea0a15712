# Made from docs/chapters/00-preface.md (392d0127e7e2). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""Attention in all its forms: the tested code of the Attention Book."""

from attention_book.convolution import ConvolutionAsAttention
from attention_book.corpus import WordTokenizer
from attention_book.texts import BPETokenizer
from attention_book.decoder import Decoder, DecoderLayer
from attention_book.fast_decoding import Translator
from attention_book.encoder import (
    Encoder,
    EncoderLayer,
    FeedForward,
    PostNorm,
    PreNorm,
    SwiGLU,
)
from attention_book.runtime import get_compute_config
from attention_book.caches import KeyValueCache
from attention_book.multi_head import MultiHeadAttention, attention_weights
from attention_book.non_autoregressive import MaskedTransformer, mask_predict
from attention_book.pooling import GaussianPooling
from attention_book.positions import (
    ALiBi,
    ALiBiAttention,
    LearnedPositions,
    RotaryEmbedding,
    RotaryAttention,
    SinusoidalPositions,
)
from attention_book.recurrent import AttentiveSeq2Seq, Seq2Seq
from attention_book.scoring import (
    AdditiveAttention,
    causal_mask,
    fused_attention,
    masked_softmax,
    padding_mask,
    scaled_dot_product_attention,
)
from attention_book.checkpoints import load_model, save_model
from attention_book.training import TrainingConfig, Trainer
from attention_book.transformer import Transformer, TransformerConfig
from attention_book.images import Classifier, load_vit
from attention_book.vit import ViT, ViTConfig

__version__ = "0.1.0"


__all__ = [
    "ALiBi",
    "ALiBiAttention",
    "AdditiveAttention",
    "AttentiveSeq2Seq",
    "Classifier",
    "ConvolutionAsAttention",
    "Decoder",
    "DecoderLayer",
    "Encoder",
    "EncoderLayer",
    "FeedForward",
    "GaussianPooling",
    "KeyValueCache",
    "LearnedPositions",
    "MaskedTransformer",
    "MultiHeadAttention",
    "PostNorm",
    "PreNorm",
    "TrainingConfig",
    "RotaryEmbedding",
    "RotaryAttention",
    "Seq2Seq",
    "SinusoidalPositions",
    "BPETokenizer",
    "SwiGLU",
    "Trainer",
    "Transformer",
    "TransformerConfig",
    "Translator",
    "ViT",
    "ViTConfig",
    "WordTokenizer",
    "attention_weights",
    "causal_mask",
    "get_compute_config",
    "fused_attention",
    "load_model",
    "load_vit",
    "mask_predict",
    "masked_softmax",
    "padding_mask",
    "save_model",
    "scaled_dot_product_attention",
]
