# Made from docs/source/package.md (b29e192b5b73). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""Generating text, and translating. Explained in the chapter "Decoding"."""
