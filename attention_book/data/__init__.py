# Made from docs/source/package.md (d0132471658b). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""Data: where it comes from, and how it is made ready for a model."""
