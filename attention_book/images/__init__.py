# Made from docs/chapters/37-images.md (5601bc6dde98). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
from attention_book.images.classifier import Classifier, DIGITS
from attention_book.images.files import open_image, read_digit
from attention_book.images.weights import load_vit


__all__ = [
    "Classifier",
    "DIGITS",
    "load_vit",
    "open_image",
    "read_digit",
]
