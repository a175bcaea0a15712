# Made from docs/source/pretrained-files.md (dacf6a9dfcc6). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""Models of transformers, read from folders and written back.

The idea is explained in the chapter "Pretrained weights", the code on the
page "Folders of pretrained models".
"""

from attention_book.io.pretrained.folders import (
    Pretrained,
    from_pretrained,
    save_pretrained,
)
from attention_book.io.pretrained.gpt2 import gpt2_layout
from attention_book.io.pretrained.layout import (
    Layout,
    WeightSlot,
    collect,
)
from attention_book.io.pretrained.marian import (
    ConcatenatedSinusoids,
    MarianConfig,
    MarianTransformer,
    book_ids,
)
from attention_book.io.pretrained.tokenizers import (
    MarianTokenizer,
    TextTokenizer,
)
from attention_book.io.pretrained.vit import load_vit


__all__ = [
    "ConcatenatedSinusoids",
    "Layout",
    "MarianConfig",
    "MarianTokenizer",
    "MarianTransformer",
    "Pretrained",
    "TextTokenizer",
    "WeightSlot",
    "book_ids",
    "collect",
    "from_pretrained",
    "gpt2_layout",
    "load_vit",
    "save_pretrained",
]
