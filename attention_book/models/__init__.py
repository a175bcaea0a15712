# Made from docs/source/package.md (bef8a10cb96e). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""Models made of attention layers."""
