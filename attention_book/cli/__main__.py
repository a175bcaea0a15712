# Made from docs/source/cli.md (49a35c6f1f19). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""Runs the command, as python -m attention_book.cli.

Explained in the chapter "The command line".
"""

from attention_book.__main__ import main


if __name__ == "__main__":
    main()
