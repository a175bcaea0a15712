# Made from docs/chapters/40-cli.md (84f008ddf40e). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
import sys
from pathlib import Path
from typing import Annotated, Literal

import typer
from rich.console import Console
from typer import Option

from attention_book import __version__
from attention_book.processes.errors import USER_ERRORS
from attention_book.runtime import Precision


__all__ = [
    "BeamSize",
    "DeviceName",
    "ModelFile",
    "PrecisionName",
    "app",
    "main",
    "make_console",
    "print_error",
    "refuse_folder",
]


app = typer.Typer(
    add_completion=False,
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


def make_console() -> Console:
    """Make a console that prints texts as they are, brackets and all."""
    return Console(markup=False, emoji=False, highlight=False)


ModelFile = Annotated[
    Path,
    Option(help="A file made by train.", show_default="the book's own model"),
]
BeamSize = Annotated[  # even small vocabularies have more than 100 tokens
    int,
    Option(help="Hypotheses to keep; 1 is greedy.", min=1, max=100),
]
DeviceName = Annotated[
    str, Option(help="auto, cpu, cuda, cuda:N or mps; auto: the best here.")
]
PrecisionName = Annotated[
    Literal["auto", Precision],
    Option(help="Precision to compute in; auto: what suits the device."),
]


def refuse_folder(path: Path) -> None:
    """Raise ValueError if it is a folder and no file."""
    if path.is_dir():
        raise ValueError(f"{path}: wanted a file, got a folder")


def print_error(text: object) -> None:
    """Print, in one line, what is wrong."""
    typer.echo(f"attention-book: {text}", err=True)


def main() -> None:
    """Run the command; an error is one line, and the exit status 1."""
    try:
        app()
    except USER_ERRORS as error:
        print_error(error)
        sys.exit(1)
