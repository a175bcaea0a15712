# Made from docs/source/package.md (a1f9f2cd5abb). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""From a trained model to translations, texts and answers."""
