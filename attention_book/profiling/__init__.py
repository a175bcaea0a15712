# Made from docs/source/package.md (c2c347444e9a). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""What an operation costs, and what a device can do."""
