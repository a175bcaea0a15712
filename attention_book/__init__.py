# Made from docs/source/cli.md (bfbc4e9780c9). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""Attention in all its forms: the package of the Attention Book.

Its names are those of layers, models, training and generation. The docstring
of a module names the chapter that explains it, and each class knows its
module: help(MultiHeadAttention.__module__).
"""

# The imports below are the public names. They are for those who read types;
# at run time __getattr__ reads them, and imports a name when it is first used.

from typing import TYPE_CHECKING


__version__ = "0.1.0"


if TYPE_CHECKING:
    from .attention.block_sparse import (
        BlockSparseAttention as BlockSparseAttention,
    )
    from .attention.caches import KeyValueCache as KeyValueCache
    from .attention.entmax import (
        EntmaxAttention as EntmaxAttention,
        entmax as entmax,
        entmax15 as entmax15,
    )
    from .attention.functional import (
        AdditiveAttention as AdditiveAttention,
        causal_mask as causal_mask,
        masked_softmax as masked_softmax,
        padding_mask as padding_mask,
        scaled_dot_product_attention as scaled_dot_product_attention,
    )
    from .attention.flash import FlashAttention as FlashAttention
    from .attention.flash_op import flash_attention as flash_attention
    from .attention.fused import fused_attention as fused_attention
    from .attention.gates import GatedAttention as GatedAttention
    from .attention.graph import GraphAttention as GraphAttention
    from .attention.latent import LatentAttention as LatentAttention
    from .attention.linear import (
        GatedDeltaAttention as GatedDeltaAttention,
        LinearAttention as LinearAttention,
    )
    from .attention.multi_head import (
        MultiHeadAttention as MultiHeadAttention,
        attention_weights as attention_weights,
    )
    from .attention.packed import (
        PackedLayout as PackedLayout,
        PaddingLayout as PaddingLayout,
    )
    from .attention.positions import (
        ALiBiAttention as ALiBiAttention,
        LearnedPositions as LearnedPositions,
        RotaryAttention as RotaryAttention,
        RotaryEmbedding as RotaryEmbedding,
        SinusoidalPositions as SinusoidalPositions,
    )
    from .attention.ring import (
        RingAttention as RingAttention,
        ring_attention as ring_attention,
    )
    from .attention.spans import SpanAttention as SpanAttention
    from .attention.sparse import (
        SparsemaxAttention as SparsemaxAttention,
        sparsemax as sparsemax,
    )
    from .attention.window import (
        RollingCache as RollingCache,
        WindowAttention as WindowAttention,
    )
    from .compute import (
        ComputeConfig as ComputeConfig,
        get_compute_config as get_compute_config,
    )
    from .models.config import (
        TextConfig as TextConfig,
        TransformerConfig as TransformerConfig,
        ViTConfig as ViTConfig,
    )
    from .models.decoder import (
        Decoder as Decoder,
        DecoderLayer as DecoderLayer,
    )
    from .models.encoder import (
        Encoder as Encoder,
        EncoderLayer as EncoderLayer,
        FeedForward as FeedForward,
        SwiGLU as SwiGLU,
    )
    from .models.graph import (
        NodeClassifier as NodeClassifier,
        neighbour_mask as neighbour_mask,
    )
    from .models.language import (
        CausalLanguageModel as CausalLanguageModel,
        MaskedLanguageModel as MaskedLanguageModel,
        mask_tokens as mask_tokens,
    )
    from .models.mask_predict import (
        MaskedTransformer as MaskedTransformer,
        MaskedTransformerConfig as MaskedTransformerConfig,
    )
    from .models.residuals import PostNorm as PostNorm, PreNorm as PreNorm
    from .models.seq2seq import (
        AttentiveSeq2Seq as AttentiveSeq2Seq,
        Seq2Seq as Seq2Seq,
    )
    from .models.speech import SpeechRecognizer as SpeechRecognizer
    from .models.text import (
        SequenceClassifier as SequenceClassifier,
        TextEncoder as TextEncoder,
        TokenClassifier as TokenClassifier,
    )
    from .models.transformer import Transformer as Transformer
    from .models.vit import ViT as ViT
    from .tokenizers.bpe import BPETokenizer as BPETokenizer
    from .tokenizers.words import WordTokenizer as WordTokenizer
    from .data.spectrogram import log_mel_spectrogram as log_mel_spectrogram
    from .training.chunked_loss import (
        chunked_translation_loss as chunked_translation_loss,
    )
    from .training.config import TrainingConfig as TrainingConfig
    from .training.loading import (
        TranslationBatches as TranslationBatches,
        encode_pairs as encode_pairs,
    )
    from .training.loop import Trainer as Trainer
    from .training.losses import translation_loss as translation_loss
    from .training.validation import validation_loss as validation_loss
    from .io.checkpoints import (
        load_model as load_model,
        save_model as save_model,
    )
    from .io.pretrained.folders import (
        Pretrained as Pretrained,
        from_pretrained as from_pretrained,
        save_pretrained as save_pretrained,
    )
    from .io.pretrained.marian import MarianTransformer as MarianTransformer
    from .io.pretrained.vit import load_vit as load_vit
    from .io.progress import (
        load_checkpoint as load_checkpoint,
        save_checkpoint as save_checkpoint,
    )
    from .generation.beam import beam_search as beam_search
    from .generation.classifier import Classifier as Classifier
    from .generation.exact import exact_search as exact_search
    from .generation.generate import generate as generate, sampler as sampler
    from .generation.mask_predict import mask_predict as mask_predict
    from .generation.speculative import speculate as speculate
    from .generation.text import (
        fill_blank as fill_blank,
        generate_text as generate_text,
    )
    from .generation.translator import Translator as Translator
    from .evaluation.calibration import (
        expected_calibration_error as expected_calibration_error,
    )
    from .evaluation.metrics import (
        accuracy_by_group as accuracy_by_group,
        equalized_odds_difference as equalized_odds_difference,
    )
    from .interpret.attribution import (
        input_x_gradient as input_x_gradient,
        integrated_gradients as integrated_gradients,
    )
    from .interpret.explanations import (
        explain_image as explain_image,
        explain_sentence as explain_sentence,
    )
    from .interpret.heads import (
        list_heads as list_heads,
        prune_heads as prune_heads,
        without_heads as without_heads,
    )
    from .interpret.patching import (
        activation_patching as activation_patching,
        occlusion as occlusion,
    )
    from .interpret.probe import list_sites as list_sites, trace as trace
    from .interpret.replacing import replace_attention as replace_attention
else:
    from functools import cache
    from importlib import import_module
    from sys import modules

    @cache
    def _modules() -> dict[str, str]:
        """Read in this file which module has which public name."""
        import ast

        tree = ast.parse(__loader__.get_source(__name__))
        return {
            alias.name: f"{__name__}.{node.module}"
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom) and node.level
            for alias in node.names
        }

    def __getattr__(name: str) -> object:
        """Import a public name when it is first used."""
        if name == "__all__":
            return sorted(_modules())
        if name not in _modules():
            message = f"{__name__} has no attribute {name!r}"
            raise AttributeError(message, name=name, obj=modules[__name__])
        found = getattr(import_module(_modules()[name]), name)
        globals()[name] = found
        return found

    def __dir__() -> list[str]:
        """List the public names too."""
        return sorted({*globals(), *_modules()})
