# Made from docs/source/pretrained-files.md (79a6966b7b79). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""Three models of BERT, as transformers saves them.

Explained on the page "Folders of pretrained models".
"""

from typing import Any

from attention_book.io.pretrained.family import Family
from attention_book.io.pretrained.layout import Layout, WeightSlot, map_weights
from attention_book.models.config import TextConfig
from attention_book.models.language import MaskedLanguageModel
from attention_book.models.text import SequenceClassifier, TokenClassifier


__all__ = ["BERT_FAMILIES"]


_LAYER = {  # name in the file: the part of our layer
    "attention.self.query": "self_attention.q_proj",
    "attention.self.key": "self_attention.key",
    "attention.self.value": "self_attention.value",
    "attention.output.dense": "self_attention.out_proj",
    "attention.output.LayerNorm": "residuals.0.norm",
    "intermediate.dense": "feed_forward.up_proj",
    "output.dense": "feed_forward.down_proj",
    "output.LayerNorm": "residuals.1.norm",
}
_HEADS = {  # name in the file: the part of our model, if it has that
    "bert.pooler.dense": "pooler",
    "classifier": "head",
    "cls.predictions.transform.dense": "transform",
    "cls.predictions.transform.LayerNorm": "norm",
}


def _layout(model: Any) -> Layout:
    """Return where the tensors of a BERT of transformers stand in ours."""
    trunk = model.encoder
    tables = {
        "word": trunk.tokens.weight,
        "position": trunk.positions.table,
        "token_type": trunk.segments.weight,
    }
    layout = {
        f"bert.embeddings.{kind}_embeddings.weight": WeightSlot((table,))
        for kind, table in tables.items()
    }
    norm = {"LayerNorm": "embedding_norm"}
    layout |= map_weights("bert.embeddings.", trunk, norm)
    for i, layer in enumerate(trunk.encoder.layers):
        layout |= map_weights(f"bert.encoder.layer.{i}.", layer, _LAYER)
    heads = {x: part for x, part in _HEADS.items() if hasattr(model, part)}
    layout |= map_weights("", model, heads)
    if hasattr(model, "bias"):
        layout["cls.predictions.bias"] = WeightSlot((model.bias,))
    return layout


_POSITION_IDS = r"bert\.embeddings\.position_ids"
_SEQUENCE = Family(
    architecture="BertForSequenceClassification",
    model_class=SequenceClassifier,
    build=lambda fields, n: SequenceClassifier(TextConfig(**fields), n),
    layout=_layout,
    entries={  # entry: our field, its default
        "vocab_size": ("vocab_size", 30_522),
        "max_position_embeddings": ("max_length", 512),
        "type_vocab_size": ("n_segments", 2),
        "hidden_size": ("d_model", 768),
        "num_attention_heads": ("n_heads", 12),
        "intermediate_size": ("d_ff", 3072),
        "num_hidden_layers": ("n_layers", 12),
        "hidden_dropout_prob": ("dropout", 0.1),
        "layer_norm_eps": ("eps", 1e-12),
        "hidden_act": ("activation", "gelu"),
    },
    fixed={
        "model_type": "bert",
        "position_embedding_type": "absolute",
        "is_decoder": False,
        "add_cross_attention": False,
        "tie_word_embeddings": True,
    },
    fields={"norm": "post"},
    written=lambda config: {"attention_probs_dropout_prob": 0.0},
    renamed={
        r"LayerNorm\.gamma$": "LayerNorm.weight",
        r"LayerNorm\.beta$": "LayerNorm.bias",
    },
    unused=_POSITION_IDS,
    has_labels=True,
)
BERT_FAMILIES = (
    _SEQUENCE,
    _SEQUENCE._replace(
        architecture="BertForTokenClassification",
        model_class=TokenClassifier,
        build=lambda fields, n: TokenClassifier(TextConfig(**fields), n),
        unused=rf"{_POSITION_IDS}|bert\.pooler\..*",
    ),
    _SEQUENCE._replace(
        architecture="BertForMaskedLM",
        model_class=MaskedLanguageModel,
        build=lambda fields, _: MaskedLanguageModel(TextConfig(**fields)),
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
)
