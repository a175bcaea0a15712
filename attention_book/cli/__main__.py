# Made from docs/source/cli.md (5bce0142611c). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
from attention_book.__main__ import main


if __name__ == "__main__":
    main()
