# Made from docs/chapters/61-adaptive-layers.md (bdae521e3627). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
from attention_book.adaptive.attention import (
    EagerAttention,
    Entmax15Attention,
    EntmaxAttention,
    SparsemaxAttention,
)
from attention_book.adaptive.gates import GatedAttention, expected_heads
from attention_book.adaptive.pruning import (
    PrunedAttention,
    head_importance,
    prune_heads,
)
from attention_book.adaptive.replacing import replace_attention
from attention_book.adaptive.spans import SpanAttention, mean_span
from attention_book.adaptive.sparse import entmax, entmax15, sparsemax


__all__ = [
    "EagerAttention",
    "Entmax15Attention",
    "EntmaxAttention",
    "GatedAttention",
    "PrunedAttention",
    "SpanAttention",
    "SparsemaxAttention",
    "entmax",
    "entmax15",
    "expected_heads",
    "head_importance",
    "mean_span",
    "prune_heads",
    "replace_attention",
    "sparsemax",
]
