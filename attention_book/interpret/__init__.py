# Made from docs/source/package.md (4176f7cef84e). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""Looking into models, and changing what they compute.

Explained in the chapter "Reading attention".
"""
