# Made from docs/source/package.md (87f63e5e77ea). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""From text to the numbers of its tokens, and back."""
