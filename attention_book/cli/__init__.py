# Made from docs/chapters/40-cli.md (b34e35c53943). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
from attention_book.cli import (
    classify,
    corpora,
    evaluate,
    exercises,
    train,
    translate,
)
from attention_book.cli.app import app, main


__all__ = [
    "app",
    "classify",
    "corpora",
    "evaluate",
    "exercises",
    "main",
    "train",
    "translate",
]
