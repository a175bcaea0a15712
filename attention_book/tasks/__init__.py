# Made from docs/chapters/56-text-models.md (04c0834c4beb). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
from attention_book.tasks.config import Activation, TextConfig
from attention_book.tasks.encoder import TextEncoder
from attention_book.tasks.heads import SequenceClassifier, TokenClassifier


__all__ = [
    "Activation",
    "SequenceClassifier",
    "TextConfig",
    "TextEncoder",
    "TokenClassifier",
]
