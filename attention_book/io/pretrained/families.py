# Made from docs/source/pretrained-files.md (6abb6e8eee2a). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
from typing import Any

from torch import nn

from attention_book.io.pretrained.family import Family
from attention_book.io.pretrained.marian import (
    MarianConfig,
    MarianTransformer,
    marian_layout,
)
from attention_book.io.pretrained.settings import Settings
from attention_book.io.pretrained.text_families import TEXT_FAMILIES
from attention_book.io.pretrained.vit import VIT


__all__ = ["FAMILIES", "family_of"]


_MARIAN_ACTIVATIONS = {
    "swish": "swish",
    "silu": "swish",
    "gelu": "gelu",
    "relu": "relu",
}


def _never(settings: Settings) -> tuple[int, ...]:
    """Return the single tokens that bad_words_ids forbids."""
    found = settings.entries.get("bad_words_ids") or []
    if type(found) is not list or not all(
        type(x) is list and len(x) == 1 and type(x[0]) is int for x in found
    ):
        raise ValueError(f"wanted bad_words_ids of one id each, got {found}")
    return tuple(token_ids[0] for token_ids in found)


def _build_marian(settings: Settings) -> MarianTransformer:
    """Make MarianMTModel."""
    vocab_size = settings.count("vocab_size", 58_101)
    n_layers = settings.layers("encoder_layers", 12)
    n_heads = settings.count("encoder_attention_heads", 16)
    d_ff = settings.count("encoder_ffn_dim", 4096)
    decoder_vocab_size = settings.entries.get("decoder_vocab_size")
    settings.demand(
        decoder_layers=n_layers,
        decoder_attention_heads=n_heads,
        decoder_ffn_dim=d_ff,
        share_encoder_decoder_embeddings=True,
        tie_word_embeddings=True,
        static_position_embeddings=True,
        normalize_before=False,
        normalize_embedding=False,
        add_final_layer_norm=False,
    )
    if decoder_vocab_size is not None:
        settings.demand(decoder_vocab_size=vocab_size)
    name = "activation_function"
    activation: Any = settings.lookup(name, _MARIAN_ACTIVATIONS, "gelu")
    scale = settings.entries.get("scale_embedding", False)
    settings.demand(scale_embedding=bool(scale))
    return MarianTransformer(
        MarianConfig(
            source_vocab_size=vocab_size + 1,
            target_vocab_size=vocab_size + 1,
            d_model=settings.count("d_model", 1024),
            n_heads=n_heads,
            d_ff=d_ff,
            n_layers=n_layers,
            dropout=settings.number("dropout", 0.1),
            max_length=settings.count("max_position_embeddings", 1024),
            activation=activation,
            scale_embedding=bool(scale),
            start_id=settings.count("decoder_start_token_id", 58_100),
            eos_id=settings.count("eos_token_id", 0),
            never=_never(settings),
        )
    )


def _describe_marian(model: MarianTransformer) -> dict[str, Any]:
    """Return config.json of a Marian model."""
    c = model.config
    sides = {}
    for side in ("encoder", "decoder"):
        sides[f"{side}_layers"] = c.n_layers
        sides[f"{side}_attention_heads"] = c.n_heads
        sides[f"{side}_ffn_dim"] = c.d_ff
    return {
        **sides,
        "vocab_size": c.target_vocab_size - 1,
        "decoder_vocab_size": c.target_vocab_size - 1,
        "d_model": c.d_model,
        "max_position_embeddings": c.max_length,
        "dropout": c.dropout,
        "activation_function": c.activation,
        "scale_embedding": c.scale_embedding,
        "decoder_start_token_id": c.start_id,
        "pad_token_id": c.start_id,
        "eos_token_id": c.eos_id,
        "forced_eos_token_id": c.eos_id,
        "is_encoder_decoder": True,
        "share_encoder_decoder_embeddings": True,
        "tie_word_embeddings": True,
        **({"bad_words_ids": [[x] for x in c.never]} if c.never else {}),
    }


_SIDES = r"model\.(encoder|decoder)"

FAMILIES: dict[str, Family] = {  # by the architecture in config.json
    **TEXT_FAMILIES,
    "MarianMTModel": Family(
        "marian",
        _build_marian,
        _describe_marian,
        marian_layout,
        MarianTransformer,
        {},
        rf"{_SIDES}\.embed_positions\.weight",
        {
            "lm_head.weight": "model.shared.weight",
            "model.encoder.embed_tokens.weight": "model.shared.weight",
            "model.decoder.embed_tokens.weight": "model.shared.weight",
        },
    ),
    "ViTForImageClassification": VIT,
}


def family_of(model: nn.Module) -> tuple[str, Family]:
    """Return the class of transformers that does what a model does.

    Raises:
        ValueError: There is none.
    """
    for name, family in FAMILIES.items():
        if type(model) is family.model_class:
            return name, family
    known = ", ".join(x.model_class.__name__ for x in FAMILIES.values())
    raise ValueError(
        f"model must be one of {known}, got a {type(model).__name__}"
    )
