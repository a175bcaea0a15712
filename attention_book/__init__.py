# Made from docs/source/cli.md (3b5c55142221). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""Attention in all its forms: the tested code of the Attention Book.

The imports below are the public names. They are for those who read types;
at run time __getattr__ reads them, and imports a name when it is first used.
"""

from typing import TYPE_CHECKING


__version__ = "0.1.0"


if TYPE_CHECKING:
    from attention_book.attention.caches import (
        KeyValueCache as KeyValueCache,
    )
    from attention_book.attention.entmax import (
        entmax as entmax,
    )
    from attention_book.attention.entmax import (
        entmax15 as entmax15,
    )
    from attention_book.attention.functional import (
        AdditiveAttention as AdditiveAttention,
    )
    from attention_book.attention.functional import (
        causal_mask as causal_mask,
    )
    from attention_book.attention.fused import (
        fused_attention as fused_attention,
    )
    from attention_book.attention.functional import (
        masked_softmax as masked_softmax,
    )
    from attention_book.attention.functional import (
        padding_mask as padding_mask,
    )
    from attention_book.attention.functional import (
        scaled_dot_product_attention as scaled_dot_product_attention,
    )
    from attention_book.attention.gates import GatedAttention as GatedAttention
    from attention_book.attention.multi_head import (
        MultiHeadAttention as MultiHeadAttention,
    )
    from attention_book.attention.multi_head import (
        attention_weights as attention_weights,
    )
    from attention_book.attention.packed import (
        PackedMask as PackedMask,
    )
    from attention_book.attention.packed import (
        PaddingLayout as PaddingLayout,
    )
    from attention_book.attention.positions import (
        ALiBiAttention as ALiBiAttention,
    )
    from attention_book.attention.positions import (
        LearnedPositions as LearnedPositions,
    )
    from attention_book.attention.positions import (
        RotaryAttention as RotaryAttention,
    )
    from attention_book.attention.positions import (
        RotaryEmbedding as RotaryEmbedding,
    )
    from attention_book.attention.positions import (
        SinusoidalPositions as SinusoidalPositions,
    )
    from attention_book.interpret.pruning import prune_heads as prune_heads
    from attention_book.interpret.replacing import (
        replace_attention as replace_attention,
    )
    from attention_book.attention.spans import SpanAttention as SpanAttention
    from attention_book.attention.sparse import (
        EntmaxAttention as EntmaxAttention,
    )
    from attention_book.attention.sparse import (
        SparsemaxAttention as SparsemaxAttention,
    )
    from attention_book.attention.sparse import (
        sparsemax as sparsemax,
    )
    from attention_book.compute import (
        ComputeConfig as ComputeConfig,
    )
    from attention_book.compute import (
        get_compute_config as get_compute_config,
    )
    from attention_book.models.language import mask_tokens as mask_tokens
    from attention_book.data.audio import load_wave as load_wave
    from attention_book.data.spectrogram import (
        log_mel_spectrogram as log_mel_spectrogram,
    )
    from attention_book.evaluation.metrics import (
        accuracy_by_group as accuracy_by_group,
    )
    from attention_book.evaluation.metrics import (
        equalized_odds_difference as equalized_odds_difference,
    )
    from attention_book.evaluation.calibration import (
        expected_calibration_error as expected_calibration_error,
    )
    from attention_book.generation.beam import beam_search as beam_search
    from attention_book.generation.classifier import Classifier as Classifier
    from attention_book.generation.generate import generate as generate
    from attention_book.generation.strategies import sampler as sampler
    from attention_book.models.language import fill_blank as fill_blank
    from attention_book.generation.text import (
        generate_text as generate_text,
    )
    from attention_book.generation.translator import Translator as Translator
    from attention_book.interpret.patching import (
        activation_patching as activation_patching,
    )
    from attention_book.interpret.patching import (
        attribution_patching as attribution_patching,
    )
    from attention_book.interpret.heads import find_heads as find_heads
    from attention_book.interpret.sites import find_sites as find_sites
    from attention_book.interpret.attribution import (
        gradient_x_input as gradient_x_input,
    )
    from attention_book.interpret.attribution import (
        input_x_gradient as input_x_gradient,
    )
    from attention_book.interpret.attribution import (
        integrated_gradients as integrated_gradients,
    )
    from attention_book.interpret.attribution import (
        leave_one_out as leave_one_out,
    )
    from attention_book.interpret.attribution import occlusion as occlusion
    from attention_book.interpret.probe import trace as trace
    from attention_book.interpret.heads import without_heads as without_heads
    from attention_book.interpret.explanations import (
        explain_image as explain_image,
    )
    from attention_book.interpret.explanations import (
        explain_sentence as explain_sentence,
    )
    from attention_book.io.checkpoints import load_model as load_model
    from attention_book.io.checkpoints import save_model as save_model
    from attention_book.io.pretrained.marian import (
        MarianTransformer as MarianTransformer,
    )
    from attention_book.io.pretrained.folders import Pretrained as Pretrained
    from attention_book.io.pretrained.folders import (
        from_pretrained as from_pretrained,
    )
    from attention_book.io.pretrained.folders import (
        save_pretrained as save_pretrained,
    )
    from attention_book.io.pretrained.vit import load_vit as load_vit
    from attention_book.io.progress import (
        load_checkpoint as load_checkpoint,
    )
    from attention_book.io.progress import (
        save_checkpoint as save_checkpoint,
    )
    from attention_book.models.decoder import (
        Decoder as Decoder,
    )
    from attention_book.models.decoder import (
        DecoderLayer as DecoderLayer,
    )
    from attention_book.models.encoder import (
        Encoder as Encoder,
    )
    from attention_book.models.encoder import (
        EncoderLayer as EncoderLayer,
    )
    from attention_book.models.encoder import (
        FeedForward as FeedForward,
    )
    from attention_book.models.encoder import (
        PostNorm as PostNorm,
    )
    from attention_book.models.encoder import (
        PreNorm as PreNorm,
    )
    from attention_book.models.encoder import (
        SwiGLU as SwiGLU,
    )
    from attention_book.models.graph import (
        GraphAttention as GraphAttention,
    )
    from attention_book.models.graph import (
        NodeClassifier as NodeClassifier,
    )
    from attention_book.models.graph import (
        neighbour_mask as neighbour_mask,
    )
    from attention_book.models.language import (
        CausalLanguageModel as CausalLanguageModel,
    )
    from attention_book.models.language import (
        MaskedLanguageModel as MaskedLanguageModel,
    )
    from attention_book.models.mask_predict import (
        MaskedTransformer as MaskedTransformer,
    )
    from attention_book.models.mask_predict import (
        MaskedTransformerConfig as MaskedTransformerConfig,
    )
    from attention_book.models.mask_predict import (
        mask_predict as mask_predict,
    )
    from attention_book.models.ngrams import NGramModel as NGramModel
    from attention_book.models.seq2seq import (
        AttentiveSeq2Seq as AttentiveSeq2Seq,
    )
    from attention_book.models.seq2seq import (
        Seq2Seq as Seq2Seq,
    )
    from attention_book.models.speech import (
        SpeechRecognizer as SpeechRecognizer,
    )
    from attention_book.models.text import TextEncoder as TextEncoder
    from attention_book.models.text import TextConfig as TextConfig
    from attention_book.models.text import (
        SequenceClassifier as SequenceClassifier,
    )
    from attention_book.models.text import TokenClassifier as TokenClassifier
    from attention_book.models.transformer import (
        Transformer as Transformer,
    )
    from attention_book.models.config import (
        TransformerConfig as TransformerConfig,
    )
    from attention_book.models.vit import ViT as ViT
    from attention_book.models.vit import ViTConfig as ViTConfig
    from attention_book.tokenizers.bpe import BPETokenizer as BPETokenizer
    from attention_book.tokenizers.words import WordTokenizer as WordTokenizer
    from attention_book.training import BatchLoader as BatchLoader
    from attention_book.training.loop import Trainer as Trainer
    from attention_book.training.config import TrainingConfig as TrainingConfig
    from attention_book.training.loading import encode_pairs as encode_pairs
    from attention_book.training.losses import (
        translation_loss as translation_loss,
    )
    from attention_book.training.validation import (
        validation_loss as validation_loss,
    )
    from attention_book.training.chunked_loss import (
        chunked_translation_loss as chunked_translation_loss,
    )
else:
    from functools import cache
    from importlib import import_module

    @cache
    def _modules() -> dict[str, str]:
        """Read in this file which module has which public name."""
        import ast

        source = __loader__.get_source(__name__)
        return {
            alias.name: node.module
            for node in ast.walk(ast.parse(source))
            if isinstance(node, ast.ImportFrom)
            and node.module.startswith(f"{__name__}.")
            for alias in node.names
        }

    def __getattr__(name: str) -> object:
        """Import a public name, or a module that has some."""
        modules = _modules()
        if name == "__all__":
            return sorted(modules)
        if f"{__name__}.{name}" in modules.values():
            return import_module(f"{__name__}.{name}")
        if name not in modules:
            raise AttributeError(f"{__name__} has no attribute {name!r}")
        found = getattr(import_module(modules[name]), name)
        globals()[name] = found
        return found

    def __dir__() -> list[str]:
        """List the public names too."""
        return sorted({*globals(), *_modules()})
