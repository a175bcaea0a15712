# Made from docs/source/package.md (0ce753558357). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""The command attention-book."""
