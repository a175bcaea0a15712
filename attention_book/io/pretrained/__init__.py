# Made from docs/source/pretrained-files.md (9c545693b416). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""Models of transformers, read from folders and written back.

The idea is explained in the chapter "Pretrained weights", the code on the
page "Folders of pretrained models".
"""

from attention_book.io.pretrained.folders import (
    Pretrained,
    from_pretrained,
    save_pretrained,
)
from attention_book.io.pretrained.marian import MarianTransformer
from attention_book.io.pretrained.vit import load_vit


__all__ = [
    "MarianTransformer",
    "Pretrained",
    "from_pretrained",
    "load_vit",
    "save_pretrained",
]
