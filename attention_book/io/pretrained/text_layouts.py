# Made from docs/source/pretrained-files.md (ac28d3c0896b). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
from typing import Any

from attention_book.io.pretrained.layers import map_layer, map_weights
from attention_book.io.pretrained.layout import JoinedViews, Layout
from attention_book.io.pretrained.names import GPT2_LAYER
from attention_book.models.language import (
    CausalLanguageModel,
    MaskedLanguageModel,
)
from attention_book.models.text import SequenceClassifier


__all__ = ["bert_layout", "gpt2_layout"]


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


def _bert_trunk(trunk: Any) -> Layout:
    """Return where the tensors of transformers' BertModel stand."""
    tables = {
        "word": trunk.tokens.weight,
        "position": trunk.positions.table,
        "token_type": trunk.segments.weight,
    }
    layout = map_weights("bert.embeddings.LayerNorm", trunk.embedding_norm)
    for kind, table in tables.items():
        layout[f"bert.embeddings.{kind}_embeddings.weight"] = JoinedViews(
            (table,)
        )
    for i, layer in enumerate(trunk.encoder.layers):
        layout |= map_layer(f"bert.encoder.layer.{i}", layer, _BERT_LAYER)
    return layout


def bert_layout(model: Any) -> Layout:
    """Return where the tensors of a BERT of transformers stand in ours.

    Args:
        model: A MaskedLanguageModel, SequenceClassifier or TokenClassifier
            with post-norm and segments.
    """
    layout = _bert_trunk(model.encoder)
    if isinstance(model, MaskedLanguageModel):
        head = "cls.predictions"
        layout |= map_weights(f"{head}.transform.dense", model.transform)
        layout |= map_weights(f"{head}.transform.LayerNorm", model.norm)
        return {**layout, f"{head}.bias": JoinedViews((model.bias,))}
    if isinstance(model, SequenceClassifier):
        layout |= map_weights("bert.pooler.dense", model.pooler)
    return layout | map_weights("classifier", model.head)


def gpt2_layout(model: CausalLanguageModel) -> Layout:
    """Return where the tensors of transformers' GPT2LMHeadModel stand.

    Its Conv1D keeps matrices as (in, out): each is transposed.
    """
    trunk = model.encoder
    layout = {
        "transformer.wte.weight": JoinedViews((trunk.tokens.weight,)),
        "transformer.wpe.weight": JoinedViews((trunk.positions.table,)),
        **map_weights("transformer.ln_f", trunk.encoder.norm),
    }
    for i, layer in enumerate(trunk.encoder.layers):
        stem = f"transformer.h.{i}"
        layout |= map_layer(stem, layer, GPT2_LAYER, is_transposed=True)
    return layout
