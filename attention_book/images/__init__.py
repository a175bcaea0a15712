# Made from docs/chapters/37-images.md (db46021ee78e). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
from attention_book.images.classifier import DIGITS, UNSURE, Classifier
from attention_book.images.files import (
    find_ink,
    open_image,
    read_digit,
    to_digit,
    to_pixels,
)
from attention_book.pretrained.vit import load_vit


__all__ = [
    "DIGITS",
    "UNSURE",
    "Classifier",
    "find_ink",
    "load_vit",
    "open_image",
    "read_digit",
    "to_digit",
    "to_pixels",
]
