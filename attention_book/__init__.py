# Made from docs/chapters/00-preface.md (f65829a36521). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""Attention in all its forms: the tested code of the Attention Book."""

from attention_book.compared import ConvolutionAsAttention
from attention_book.corpus import Subwords, Vocabulary
from attention_book.decoder import Decoder, DecoderLayer
from attention_book.decoding import Translator
from attention_book.encoder import (
    Encoder,
    EncoderLayer,
    FeedForward,
    PostNorm,
    PreNorm,
    SwiGLU,
)
from attention_book.gpu import choose
from attention_book.multi_head import (
    KeyValueCache,
    MultiHeadAttention,
    attention_weights,
)
from attention_book.non_autoregressive import MaskedTransformer, mask_predict
from attention_book.pooling import GaussianPooling
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
    causal_mask,
    fused_attention,
    masked_softmax,
    padding_mask,
    scaled_dot_product_attention,
)
from attention_book.training import Recipe, Trainer, load_model, save_model
from attention_book.transformer import Transformer, TransformerConfig
from attention_book.vit import Classifier, ViT, ViTConfig, load_vit

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
    "Recipe",
    "Rotary",
    "RotaryAttention",
    "Seq2Seq",
    "SinusoidalPositions",
    "Subwords",
    "SwiGLU",
    "Trainer",
    "Transformer",
    "TransformerConfig",
    "Translator",
    "ViT",
    "ViTConfig",
    "Vocabulary",
    "attention_weights",
    "causal_mask",
    "choose",
    "fused_attention",
    "load_model",
    "load_vit",
    "mask_predict",
    "masked_softmax",
    "padding_mask",
    "save_model",
    "scaled_dot_product_attention",
]
