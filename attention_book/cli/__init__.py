# Made from docs/chapters/40-cli.md (1124abb92518). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
from attention_book.cli import classify, corpora, evaluate, train, translate
from attention_book.cli.app import app, main


__all__ = [
    "app",
    "classify",
    "corpora",
    "evaluate",
    "main",
    "train",
    "translate",
]
