# Made from docs/source/cli.md (08ba5e238c7e). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""The errors that are the user's, and are said in one line.

Explained in the chapter "The command line".
"""

__all__ = ["USER_ERRORS"]


USER_ERRORS = (ArithmeticError, ImportError, OSError, ValueError)
