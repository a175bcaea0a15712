# Made from docs/chapters/40-cli.md (29cc1108f87f). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
import sys

from attention_book import scale_out
from attention_book.cli.app import app, complain


def main() -> None:
    """Run the command; an error is one line, and the exit status 1."""
    try:
        app()
    except scale_out.USER_ERRORS as error:
        complain(error)
        sys.exit(1)


if __name__ == "__main__":
    main()
