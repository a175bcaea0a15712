# Made from docs/chapters/40-cli.md (a122c377110f). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
from attention_book.cli.__main__ import main
from attention_book.cli.app import app


__all__ = [
    "app",
    "main",
]
