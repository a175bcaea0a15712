# Made from docs/source/cli.md (e06a5b5ad039). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
from attention_book.attention.caches import KeyValueCache
from attention_book.attention.convolution import ConvolutionAsAttention
from attention_book.attention.entmax import EntmaxAttention, SparsemaxAttention
from attention_book.attention.functional import (
    AdditiveAttention,
    causal_mask,
    fused_attention,
    masked_softmax,
    padding_mask,
    scaled_dot_product_attention,
)
from attention_book.attention.gates import GatedAttention
from attention_book.attention.multi_head import (
    MultiHeadAttention,
    attention_weights,
)
from attention_book.attention.packed import PackedMask, PaddingLayout
from attention_book.attention.pooling import GaussianPooling
from attention_book.attention.positions import (
    ALiBi,
    ALiBiAttention,
    LearnedPositions,
    RotaryAttention,
    RotaryEmbedding,
    SinusoidalPositions,
)
from attention_book.attention.pruning import prune_heads
from attention_book.attention.replacing import replace_attention
from attention_book.attention.spans import SpanAttention
from attention_book.attention.sparse import entmax, entmax15, sparsemax
from attention_book.compute import ComputeConfig, get_compute_config
from attention_book.data.audio import read_wave
from attention_book.data.masking import mask_tokens
from attention_book.data.spectrogram import log_mel_spectrogram
from attention_book.evaluation import (
    accuracy_by_group,
    equalized_odds_difference,
    expected_calibration_error,
)
from attention_book.generation import (
    Translator,
    beam_search,
    generate,
    generate_text,
    sampler,
)
from attention_book.generation.classifier import Classifier
from attention_book.generation.text import fill_blank
from attention_book.interpret import (
    activation_patching,
    attribution_patching,
    find_heads,
    find_sites,
    gradient_x_input,
    integrated_gradients,
    leave_one_out,
    trace,
    without_heads,
)
from attention_book.interpret.explanations import (
    explain_image,
    explain_sentence,
)
from attention_book.io.models import load_model, save_model
from attention_book.io.pretrained import (
    MarianTransformer,
    Pretrained,
    from_pretrained,
    save_pretrained,
)
from attention_book.io.pretrained.vit import load_vit
from attention_book.io.progress import load_checkpoint, save_checkpoint
from attention_book.models.decoder import Decoder, DecoderLayer
from attention_book.models.encoder import (
    Encoder,
    EncoderLayer,
    FeedForward,
    PostNorm,
    PreNorm,
    SwiGLU,
)
from attention_book.models.graph import (
    GraphAttention,
    NodeClassifier,
    neighbour_mask,
)
from attention_book.models.language import (
    CausalLanguageModel,
    MaskedLanguageModel,
)
from attention_book.models.mask_predict import (
    MaskedTransformer,
    MaskedTransformerConfig,
    mask_predict,
)
from attention_book.models.ngrams import NGramModel
from attention_book.models.seq2seq import AttentiveSeq2Seq, Seq2Seq
from attention_book.models.speech import SpeechRecognizer
from attention_book.models.text import TextEncoder
from attention_book.models.text_config import TextConfig
from attention_book.models.text_heads import (
    SequenceClassifier,
    TokenClassifier,
)
from attention_book.models.transformer import Transformer, TransformerConfig
from attention_book.models.vit import ViT
from attention_book.models.vit_config import ViTConfig
from attention_book.tokenizers.bpe import BPETokenizer
from attention_book.tokenizers.words import WordTokenizer
from attention_book.training import (
    BatchLoader,
    Trainer,
    TrainingConfig,
    encode_pairs,
    translation_loss,
    validation_loss,
)
from attention_book.training.chunked_loss import chunked_translation_loss


__all__ = [
    "ALiBi",
    "ALiBiAttention",
    "AdditiveAttention",
    "AttentiveSeq2Seq",
    "BPETokenizer",
    "BatchLoader",
    "CausalLanguageModel",
    "Classifier",
    "ComputeConfig",
    "ConvolutionAsAttention",
    "Decoder",
    "DecoderLayer",
    "Encoder",
    "EncoderLayer",
    "EntmaxAttention",
    "FeedForward",
    "GatedAttention",
    "GaussianPooling",
    "GraphAttention",
    "KeyValueCache",
    "LearnedPositions",
    "MarianTransformer",
    "MaskedLanguageModel",
    "MaskedTransformer",
    "MaskedTransformerConfig",
    "MultiHeadAttention",
    "NGramModel",
    "NodeClassifier",
    "PackedMask",
    "PaddingLayout",
    "PostNorm",
    "PreNorm",
    "Pretrained",
    "RotaryAttention",
    "RotaryEmbedding",
    "Seq2Seq",
    "SequenceClassifier",
    "SinusoidalPositions",
    "SpanAttention",
    "SparsemaxAttention",
    "SpeechRecognizer",
    "SwiGLU",
    "TextConfig",
    "TextEncoder",
    "TokenClassifier",
    "Trainer",
    "TrainingConfig",
    "Transformer",
    "TransformerConfig",
    "Translator",
    "ViT",
    "ViTConfig",
    "WordTokenizer",
    "accuracy_by_group",
    "activation_patching",
    "attention_weights",
    "attribution_patching",
    "beam_search",
    "causal_mask",
    "chunked_translation_loss",
    "encode_pairs",
    "entmax",
    "entmax15",
    "equalized_odds_difference",
    "expected_calibration_error",
    "explain_image",
    "explain_sentence",
    "fill_blank",
    "find_heads",
    "find_sites",
    "from_pretrained",
    "fused_attention",
    "generate",
    "generate_text",
    "get_compute_config",
    "gradient_x_input",
    "integrated_gradients",
    "leave_one_out",
    "load_checkpoint",
    "load_model",
    "load_vit",
    "log_mel_spectrogram",
    "mask_predict",
    "mask_tokens",
    "masked_softmax",
    "neighbour_mask",
    "padding_mask",
    "prune_heads",
    "read_wave",
    "replace_attention",
    "sampler",
    "save_checkpoint",
    "save_model",
    "save_pretrained",
    "scaled_dot_product_attention",
    "sparsemax",
    "trace",
    "translation_loss",
    "validation_loss",
    "without_heads",
]
