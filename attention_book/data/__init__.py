# Made from docs/source/texts.md (f4a86d2789ee). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""Data: where it comes from, and how it is made ready for a model."""

__all__ = []
