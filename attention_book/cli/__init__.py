# Made from docs/chapters/40-cli.md (8f4dd150ec73). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
from attention_book.cli.__main__ import main
from attention_book.cli.app import app

__all__ = [
    "app",
    "main",
]
