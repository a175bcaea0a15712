# Made from docs/chapters/58-pretrained-files.md (528a62bc16ba). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
from typing import Any

from attention_book.language_models.models import (
    CausalLanguageModel,
    MaskedLanguageModel,
)
from attention_book.pretrained.layers import place, place_layer
from attention_book.pretrained.layout import Layout, Place
from attention_book.pretrained.names import BERT_LAYER, GPT2_LAYER
from attention_book.tasks.heads import SequenceClassifier


__all__ = ["bert_layout", "gpt2_layout"]


def _bert_trunk(trunk: Any) -> Layout:
    """Return where the tensors of transformers' BertModel stand."""
    tables = {
        "word": trunk.tokens.weight,
        "position": trunk.positions.table,
        "token_type": trunk.segments.weight,
    }
    layout = place("bert.embeddings.LayerNorm", trunk.embedding_norm)
    for kind, table in tables.items():
        layout[f"bert.embeddings.{kind}_embeddings.weight"] = Place((table,))
    for i, layer in enumerate(trunk.encoder.layers):
        layout |= place_layer(f"bert.encoder.layer.{i}", layer, BERT_LAYER)
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
        layout |= place(f"{head}.transform.dense", model.transform)
        layout |= place(f"{head}.transform.LayerNorm", model.norm)
        return {**layout, f"{head}.bias": Place((model.bias,))}
    if isinstance(model, SequenceClassifier):
        layout |= place("bert.pooler.dense", model.pooler)
    return layout | place("classifier", model.head)


def gpt2_layout(model: CausalLanguageModel) -> Layout:
    """Return where the tensors of transformers' GPT2LMHeadModel stand.

    Its Conv1D keeps matrices as (in, out): each is transposed.
    """
    trunk = model.encoder
    layout = {
        "transformer.wte.weight": Place((trunk.tokens.weight,)),
        "transformer.wpe.weight": Place((trunk.positions.table,)),
        **place("transformer.ln_f", trunk.encoder.norm),
    }
    for i, layer in enumerate(trunk.encoder.layers):
        stem = f"transformer.h.{i}"
        layout |= place_layer(stem, layer, GPT2_LAYER, is_transposed=True)
    return layout
