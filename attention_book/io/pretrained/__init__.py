# Made from docs/source/pretrained-files.md (7399abf30940). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
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
from attention_book.io.pretrained.layout import WeightSlot, collect
from attention_book.io.pretrained.marian import (
    ConcatenatedSinusoids,
    MarianConfig,
    MarianTransformer,
)
from attention_book.io.pretrained.tokenizers import (
    MarianTokenizer,
    TextTokenizer,
)
from attention_book.io.pretrained.vit import load_vit


__all__ = [
    "ConcatenatedSinusoids",
    "MarianConfig",
    "MarianTokenizer",
    "MarianTransformer",
    "Pretrained",
    "TextTokenizer",
    "WeightSlot",
    "collect",
    "from_pretrained",
    "gpt2_layout",
    "load_vit",
    "save_pretrained",
]
