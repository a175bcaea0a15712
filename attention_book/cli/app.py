# Made from docs/source/cli.md (55c198fa06f3). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""The command: its subcommands, what it prints, and its errors.

Explained on the page "The command line".
"""

import contextlib
import re
import sys
from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from attention_book import __version__


if TYPE_CHECKING:
    from rich.console import Console


__all__ = ["app", "escape_controls", "main", "make_console", "print_error"]


_COMMANDS = {  # what each does
    "translate": "Translate sentences, by default with the book's model.",
    "corpus": "Preview a corpus and count what is in it.",
    "train": "Train a translator, or resume one that was cut off.",
    "evaluate": "Score a translator on sentences that it was not trained on.",
    "classify": "Say which digit an image shows, handwritten or printed.",
    "explain": "Show on which words, or patches, an answer depends.",
    "exercise": "List exercises, or print one: exercise by-hand-2 > ex.py.",
    "check": "Check a written exercise, without showing its answer.",
}
_MODULES = {"check": "exercise"}  # others are called as their command is


def _import_command(name: str = "") -> None:
    """Import the module of a command, if there is one of that name."""
    if name in _COMMANDS:
        import_module(f"attention_book.cli.{_MODULES.get(name, name)}")


class _LazyGroup(TyperGroup):
    """Lists commands by what they do, and imports the one that is to run."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        imported = self.commands
        self.commands = {
            name: imported.get(name, TyperCommand(name, help=what))
            for name, what in _COMMANDS.items()
        }

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find a command, which registers itself when it is imported."""
        _import_command(args[0])
        self.commands = typer.main.get_group(app).commands
        return super().resolve_command(ctx, args)


app = typer.Typer(
    cls=_LazyGroup,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(wanted: bool) -> bool:
    """Print the version and stop, if that is wanted."""
    if wanted:
        typer.echo(__version__)
        raise typer.Exit
    return wanted


@app.callback()
def _root(
    version: Annotated[
        bool,
        typer.Option(
            "--version",
            callback=_show_version,
            is_eager=True,
            help="Show the version and stop.",
        ),
    ] = False,
) -> None:
    """Train and use the models of the Attention Book, do its exercises."""


def make_console() -> "Console":
    """Make a console that prints texts as they are, brackets and all."""
    from rich.console import Console

    return Console(markup=False, emoji=False, highlight=False)


_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")


def escape_controls(text: str) -> str:
    """Escape, as JSON does, what ends a line or is a terminal's command."""
    return _CONTROL.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def print_error(text: object) -> None:
    """Print, in one line, what is wrong."""
    line = escape_controls(" ".join(str(text).split()))
    with contextlib.suppress(OSError):  # nobody can be told
        typer.echo(f"attention-book: {line[:1000]}", err=True)


_OF_USER = (ArithmeticError, ImportError, OSError, ValueError)


def main(ready: Callable[[], object] | None = None) -> None:
    """Run the command; an error is one line, and the exit status 1.

    Args:
        ready: Is called when all is imported, before anything is done.
    """
    try:
        _import_command(*sys.argv[1:2])
        if ready:
            ready()
        app(prog_name="attention-book")
    except KeyboardInterrupt:
        sys.exit(130)
    except (*_OF_USER, RuntimeError) as error:
        of_pytorch = isinstance(error, RuntimeError)
        if of_pytorch and "memory" not in str(error):
            raise  # a fault of ours
        file = getattr(error, "filename", None)
        why = getattr(error, "strerror", None) or error
        print_error(f"{file}: {why}" if file else why)
        sys.exit(1)
