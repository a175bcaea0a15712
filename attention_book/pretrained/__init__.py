# Made from docs/chapters/58-pretrained-files.md (61a7e13fd864). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
from attention_book.pretrained.folders import (
    Pretrained,
    fingerprint,
    from_pretrained,
    save_pretrained,
)
from attention_book.pretrained.foreign_tokenizers import (
    MarianTokenizer,
    TextTokenizer,
)
from attention_book.pretrained.layers import (
    Layer,
    layer_parts,
    place,
    place_layer,
)
from attention_book.pretrained.layout import (
    Layout,
    Place,
    collect,
    fill,
)
from attention_book.pretrained.marian import (
    ConcatenatedSinusoids,
    MarianActivation,
    MarianConfig,
    MarianTransformer,
    book_ids,
    marian_layout,
)
from attention_book.pretrained.text_layouts import bert_layout, gpt2_layout
from attention_book.pretrained.vit import load_vit, timm_layout, vit_layout


__all__ = [
    "ConcatenatedSinusoids",
    "Layer",
    "Layout",
    "MarianActivation",
    "MarianConfig",
    "MarianTokenizer",
    "MarianTransformer",
    "Place",
    "Pretrained",
    "TextTokenizer",
    "bert_layout",
    "book_ids",
    "collect",
    "fill",
    "fingerprint",
    "from_pretrained",
    "gpt2_layout",
    "layer_parts",
    "load_vit",
    "marian_layout",
    "place",
    "place_layer",
    "save_pretrained",
    "timm_layout",
    "vit_layout",
]
