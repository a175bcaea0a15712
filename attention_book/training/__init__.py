# Made from docs/source/package.md (4d3725126880). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""Training: configuration, batches, losses, the loop, several processes."""
