# Made from docs/source/cli.md (c41c6a0d0f6f). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
from attention_book.cli.app import app, main


__all__ = ["app", "main"]
