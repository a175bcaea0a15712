# Made from docs/source/pretrained-files.md (45a4ed61a871). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
from attention_book.io.pretrained.folders import (
    Pretrained,
    fingerprint,
    from_pretrained,
    save_pretrained,
)
from attention_book.io.pretrained.foreign_tokenizers import (
    MarianTokenizer,
    TextTokenizer,
)
from attention_book.io.pretrained.layers import (
    Layer,
    layer_parts,
    map_layer,
    map_weights,
)
from attention_book.io.pretrained.layout import (
    JoinedViews,
    Layout,
    collect,
    load_tensors,
)
from attention_book.io.pretrained.marian import (
    ConcatenatedSinusoids,
    MarianActivation,
    MarianConfig,
    MarianTransformer,
    book_ids,
    marian_layout,
)
from attention_book.io.pretrained.text_layouts import bert_layout, gpt2_layout
from attention_book.io.pretrained.vit import load_vit, timm_layout, vit_layout


__all__ = [
    "ConcatenatedSinusoids",
    "JoinedViews",
    "Layer",
    "Layout",
    "MarianActivation",
    "MarianConfig",
    "MarianTokenizer",
    "MarianTransformer",
    "Pretrained",
    "TextTokenizer",
    "bert_layout",
    "book_ids",
    "collect",
    "fingerprint",
    "from_pretrained",
    "gpt2_layout",
    "layer_parts",
    "load_tensors",
    "load_vit",
    "map_layer",
    "map_weights",
    "marian_layout",
    "save_pretrained",
    "timm_layout",
    "vit_layout",
]
