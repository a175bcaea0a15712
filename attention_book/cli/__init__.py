# Made from docs/source/cli.md (9f9a5ce48e98). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""The command attention-book.

Explained in the chapter "The command line".
"""

from attention_book.cli.app import app, main


__all__ = ["app", "main"]
