# Made from docs/chapters/00-preface.md (06bf4f27467d). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""The tested code of the Attention Book."""

__version__ = "0.1.0"
