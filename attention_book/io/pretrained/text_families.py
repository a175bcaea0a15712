# Made from docs/source/pretrained-files.md (8cb62585c2b2). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
from typing import Any

from attention_book.io.pretrained.family import Family
from attention_book.io.pretrained.settings import Settings
from attention_book.io.pretrained.text_layouts import bert_layout, gpt2_layout
from attention_book.models.language import (
    CausalLanguageModel,
    MaskedLanguageModel,
)
from attention_book.models.text import (
    SequenceClassifier,
    TextConfig,
    TokenClassifier,
)


__all__ = ["TEXT_FAMILIES"]


_GELU = {  # what config.json calls it : what the book does
    "gelu": "gelu",
    "gelu_new": "gelu_tanh",
    "gelu_pytorch_tanh": "gelu_tanh",
    "relu": "relu",
}
_NAMES = {"gelu": "gelu", "gelu_tanh": "gelu_new", "relu": "relu"}


def _bert_config(settings: Settings) -> TextConfig:
    """Return the trunk of a BERT."""
    settings.demand(
        position_embedding_type="absolute",
        is_decoder=False,
        add_cross_attention=False,
        tie_word_embeddings=True,
    )
    activation: Any = settings.lookup("hidden_act", _GELU, "gelu")
    return TextConfig(
        vocab_size=settings.count("vocab_size", 30_522),
        max_length=settings.count("max_position_embeddings", 512),
        n_segments=settings.count("type_vocab_size", 2),
        d_model=settings.count("hidden_size", 768),
        n_heads=settings.count("num_attention_heads", 12),
        d_ff=settings.count("intermediate_size", 3072),
        n_layers=settings.layers("num_hidden_layers", 12),
        dropout=settings.number("hidden_dropout_prob", 0.1),
        epsilon=settings.number("layer_norm_eps", 1e-12),
        norm="post",
        activation=activation,
    )


def _build_masked(settings: Settings) -> MaskedLanguageModel:
    """Make BertForMaskedLM, whose head has the same activation."""
    settings.lookup("hidden_act", {"gelu": "gelu"}, "gelu")
    return MaskedLanguageModel(_bert_config(settings))


def _describe_bert(model: Any) -> dict[str, Any]:
    """Return config.json of a BERT."""
    c = model.config
    if c.norm != "post" or not c.n_segments:
        raise ValueError(
            "a BERT has norm='post' and n_segments >= 1, got "
            f"{c.norm!r} and {c.n_segments}"
        )
    return {
        "vocab_size": c.vocab_size,
        "max_position_embeddings": c.max_length,
        "type_vocab_size": c.n_segments,
        "hidden_size": c.d_model,
        "num_attention_heads": c.n_heads,
        "intermediate_size": c.d_ff,
        "num_hidden_layers": c.n_layers,
        "hidden_dropout_prob": c.dropout,
        "attention_probs_dropout_prob": 0.0,
        "layer_norm_eps": c.epsilon,
        "hidden_act": _NAMES[c.activation],
        "tie_word_embeddings": True,
    }


def _build_gpt2(settings: Settings) -> CausalLanguageModel:
    """Make GPT2LMHeadModel."""
    settings.demand(
        add_cross_attention=False,
        scale_attn_weights=True,
        scale_attn_by_inverse_layer_idx=False,
        tie_word_embeddings=True,
    )
    activation: Any = settings.lookup("activation_function", _GELU, "gelu_new")
    d_model = settings.count("n_embd", 768)
    return CausalLanguageModel(
        TextConfig(
            vocab_size=settings.count("vocab_size", 50_257),
            max_length=settings.count("n_positions", 1024),
            d_model=d_model,
            n_heads=settings.count("n_head", 12),
            d_ff=settings.count("n_inner", 4 * d_model),
            n_layers=settings.layers("n_layer", 12),
            dropout=settings.number("resid_pdrop", 0.1),
            epsilon=settings.number("layer_norm_epsilon", 1e-5),
            norm="pre",
            activation=activation,
        )
    )


def _describe_gpt2(model: CausalLanguageModel) -> dict[str, Any]:
    """Return config.json of a GPT-2."""
    c = model.config
    if c.norm != "pre" or c.n_segments:
        raise ValueError(
            "a GPT-2 has norm='pre' and n_segments = 0, got "
            f"{c.norm!r} and {c.n_segments}"
        )
    return {
        "vocab_size": c.vocab_size,
        "n_positions": c.max_length,
        "n_embd": c.d_model,
        "n_head": c.n_heads,
        "n_inner": c.d_ff,
        "n_layer": c.n_layers,
        "resid_pdrop": c.dropout,
        "embd_pdrop": c.dropout,
        "attn_pdrop": 0.0,
        "layer_norm_epsilon": c.epsilon,
        "activation_function": _NAMES[c.activation],
        "tie_word_embeddings": True,
    }


_BERT_RENAMED = {
    r"LayerNorm\.gamma$": "LayerNorm.weight",
    r"LayerNorm\.beta$": "LayerNorm.bias",
}
_POSITION_IDS = r"bert\.embeddings\.position_ids"
TEXT_FAMILIES = {  # by the architecture in config.json
    "BertForMaskedLM": Family(
        "bert",
        _build_masked,
        _describe_bert,
        bert_layout,
        MaskedLanguageModel,
        _BERT_RENAMED,
        rf"{_POSITION_IDS}|bert\.pooler\..*|cls\.seq_relationship\..*",
        {
            "cls.predictions.decoder.weight": (
                "bert.embeddings.word_embeddings.weight"
            ),
            "cls.predictions.decoder.bias": "cls.predictions.bias",
        },
    ),
    "BertForSequenceClassification": Family(
        "bert",
        lambda s: SequenceClassifier(_bert_config(s), len(s.labels())),
        _describe_bert,
        bert_layout,
        SequenceClassifier,
        _BERT_RENAMED,
        _POSITION_IDS,
    ),
    "BertForTokenClassification": Family(
        "bert",
        lambda s: TokenClassifier(_bert_config(s), len(s.labels())),
        _describe_bert,
        bert_layout,
        TokenClassifier,
        _BERT_RENAMED,
        rf"{_POSITION_IDS}|bert\.pooler\..*",
    ),
    "GPT2LMHeadModel": Family(
        "gpt2",
        _build_gpt2,
        _describe_gpt2,
        gpt2_layout,
        CausalLanguageModel,
        {r"^(wte|wpe|h|ln_f)\.": r"transformer.\1."},
        r"transformer\.h\.\d+\.attn\.(bias|masked_bias)",
        {"lm_head.weight": "transformer.wte.weight"},
    ),
}
