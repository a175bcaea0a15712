# Made from docs/source/package.md (ea93abe9764e). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""Attention, from its formula to its kernels."""
