# Made from docs/chapters/40-cli.md (d369eddf10e6). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
from attention_book.adaptive import (
    EntmaxAttention,
    GatedAttention,
    SpanAttention,
    SparsemaxAttention,
    entmax,
    entmax15,
    prune_heads,
    replace_attention,
    sparsemax,
)
from attention_book.caches import KeyValueCache
from attention_book.checkpoints import (
    load_checkpoint,
    load_model,
    save_checkpoint,
    save_model,
)
from attention_book.convolution import ConvolutionAsAttention
from attention_book.corpus import WordTokenizer
from attention_book.decoder import Decoder, DecoderLayer
from attention_book.decoding import beam_search, generate, sampler
from attention_book.encoder import (
    Encoder,
    EncoderLayer,
    FeedForward,
    PostNorm,
    PreNorm,
    SwiGLU,
)
from attention_book.explain import (
    explain_image,
    explain_sentence,
)
from attention_book.fast_decoding import Translator
from attention_book.images import Classifier, load_vit
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
from attention_book.language_models import (
    CausalLanguageModel,
    MaskedLanguageModel,
    NGramModel,
    fill_blank,
    generate_text,
    mask_tokens,
)
from attention_book.losses import chunked_translation_loss
from attention_book.multi_head import MultiHeadAttention, attention_weights
from attention_book.non_autoregressive import (
    MaskedTransformer,
    MaskedTransformerConfig,
    mask_predict,
)
from attention_book.padding import PackedMask, PaddingLayout
from attention_book.pooling import GaussianPooling
from attention_book.positions import (
    ALiBi,
    ALiBiAttention,
    LearnedPositions,
    RotaryAttention,
    RotaryEmbedding,
    SinusoidalPositions,
)
from attention_book.pretrained import (
    MarianTransformer,
    Pretrained,
    from_pretrained,
    save_pretrained,
)
from attention_book.recurrent import AttentiveSeq2Seq, Seq2Seq
from attention_book.robust import (
    accuracy_by_group,
    equalized_odds_difference,
    expected_calibration_error,
)
from attention_book.runtime import ComputeConfig, get_compute_config
from attention_book.scoring import (
    AdditiveAttention,
    causal_mask,
    fused_attention,
    masked_softmax,
    padding_mask,
    scaled_dot_product_attention,
)
from attention_book.speech_and_graphs import (
    GraphAttention,
    NodeClassifier,
    SpeechRecognizer,
    log_mel_spectrogram,
    neighbour_mask,
    read_wave,
)
from attention_book.tasks import (
    SequenceClassifier,
    TextConfig,
    TextEncoder,
    TokenClassifier,
)
from attention_book.texts import BPETokenizer
from attention_book.training import (
    BatchLoader,
    Trainer,
    TrainingConfig,
    encode_pairs,
    translation_loss,
    validation_loss,
)
from attention_book.transformer import Transformer, TransformerConfig
from attention_book.vit import ViT, ViTConfig


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
