# Made from docs/chapters/40-cli.md (ac96d6d89b37). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
from attention_book.cli import main


if __name__ == "__main__":
    main()
