# Made from docs/source/package.md (bdc934579e50). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""Models and checkpoints in files: saved whole, loaded with suspicion.

Explained on the page "Files and checkpoints".
"""
