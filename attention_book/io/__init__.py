# Made from docs/source/package.md (e94284f71a54). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""Files: checkpoints, and models that others have trained."""
