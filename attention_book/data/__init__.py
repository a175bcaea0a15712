# Made from docs/source/package.md (349b44189b76). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""Texts, images and sounds to learn from."""
