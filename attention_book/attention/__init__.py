# Made from docs/source/package.md (c83e98c8806b). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""Attention in all its forms."""
