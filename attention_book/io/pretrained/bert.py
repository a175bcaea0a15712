# Made from docs/source/pretrained-files.md (4e1caf0e454b). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""Three models of BERT, as transformers saves them.

Explained on the page "Folders of pretrained models".
"""

from typing import Any

from torch import nn

from attention_book.io.pretrained.family import Family
from attention_book.io.pretrained.layers import map_layer, map_weights
from attention_book.io.pretrained.layout import Layout, WeightSlot
from attention_book.models.config import TextConfig
from attention_book.models.language import MaskedLanguageModel
from attention_book.models.text import SequenceClassifier, TokenClassifier


__all__ = ["BERT_FAMILIES", "bert_layout"]


_BERT_LAYER = {  # name in the file: the parts that it holds
    "attention.self.query": ("query",),
    "attention.self.key": ("key",),
    "attention.self.value": ("value",),
    "attention.output.dense": ("out",),
    "attention.output.LayerNorm": ("norm 1",),
    "intermediate.dense": ("up",),
    "output.dense": ("down",),
    "output.LayerNorm": ("norm 2",),
}


def _trunk_layout(trunk: Any) -> Layout:
    """Return where the tensors of transformers' BertModel stand."""
    if trunk.segments is None:
        raise ValueError("a BERT has n_segments >= 1, got 0")
    tables = {
        "word": trunk.tokens.weight,
        "position": trunk.positions.table,
        "token_type": trunk.segments.weight,
    }
    layout = map_weights("bert.embeddings.LayerNorm", trunk.embedding_norm)
    for kind, table in tables.items():
        name = f"bert.embeddings.{kind}_embeddings.weight"
        layout[name] = WeightSlot((table,))
    for i, layer in enumerate(trunk.encoder.layers):
        layout |= map_layer(f"bert.encoder.layer.{i}", layer, _BERT_LAYER)
    return layout


def bert_layout(model: Any) -> Layout:
    """Return where the tensors of a BERT of transformers stand in ours.

    Args:
        model: A MaskedLanguageModel, SequenceClassifier or TokenClassifier
            with post-norm and segments.
    """
    layout = _trunk_layout(model.encoder)
    if isinstance(model, MaskedLanguageModel):
        head = "cls.predictions"
        layout |= map_weights(f"{head}.transform.dense", model.transform)
        layout |= map_weights(f"{head}.transform.LayerNorm", model.norm)
        return {**layout, f"{head}.bias": WeightSlot((model.bias,))}
    if isinstance(model, SequenceClassifier):
        layout |= map_weights("bert.pooler.dense", model.pooler)
    return layout | map_weights("classifier", model.head)


_BERT_CONFIG: dict[str, tuple[str, Any]] = {  # entry: our field, its default
    "vocab_size": ("vocab_size", 30_522),
    "max_position_embeddings": ("max_length", 512),
    "type_vocab_size": ("n_segments", 2),
    "hidden_size": ("d_model", 768),
    "num_attention_heads": ("n_heads", 12),
    "intermediate_size": ("d_ff", 3072),
    "num_hidden_layers": ("n_layers", 12),
    "hidden_dropout_prob": ("dropout", 0.1),
    "layer_norm_eps": ("epsilon", 1e-12),
    "hidden_act": ("activation", "gelu"),
}


def _build_masked(fields: dict[str, Any]) -> nn.Module:
    """Make the model that fills blanks."""
    return MaskedLanguageModel(TextConfig(**fields))


def _build_sequence(fields: dict[str, Any]) -> nn.Module:
    """Make the model that classifies a sequence."""
    n_labels = fields.pop("n_labels")
    return SequenceClassifier(TextConfig(**fields), n_labels)


def _build_token(fields: dict[str, Any]) -> nn.Module:
    """Make the model that classifies each token."""
    n_labels = fields.pop("n_labels")
    return TokenClassifier(TextConfig(**fields), n_labels)


_POSITION_IDS = r"bert\.embeddings\.position_ids"
_SEQUENCE = Family(
    architecture="BertForSequenceClassification",
    model_type="bert",
    model_class=SequenceClassifier,
    build=_build_sequence,
    entries=_BERT_CONFIG,
    fixed={
        "position_embedding_type": "absolute",
        "is_decoder": False,
        "add_cross_attention": False,
        "tie_word_embeddings": True,
    },
    fields={"norm": "post"},
    layout=bert_layout,
    renamed={
        r"LayerNorm\.gamma$": "LayerNorm.weight",
        r"LayerNorm\.beta$": "LayerNorm.bias",
    },
    unused=_POSITION_IDS,
    written=lambda config: {"attention_probs_dropout_prob": 0.0},
    has_labels=True,
)
BERT_FAMILIES = (
    _SEQUENCE._replace(
        architecture="BertForMaskedLM",
        model_class=MaskedLanguageModel,
        build=_build_masked,
        fixed={**_SEQUENCE.fixed, "hidden_act": "gelu"},  # of the head, too
        unused=(
            rf"{_POSITION_IDS}|bert\.pooler\..*|cls\.seq_relationship\..*"
        ),
        tied={
            "cls.predictions.decoder.weight": (
                "bert.embeddings.word_embeddings.weight"
            ),
            "cls.predictions.decoder.bias": "cls.predictions.bias",
        },
        has_labels=False,
    ),
    _SEQUENCE,
    _SEQUENCE._replace(
        architecture="BertForTokenClassification",
        model_class=TokenClassifier,
        build=_build_token,
        unused=rf"{_POSITION_IDS}|bert\.pooler\..*",
    ),
)
