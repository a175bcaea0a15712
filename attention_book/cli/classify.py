# Made from docs/source/cli.md (0c9ebd6ab461). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""The command classify. Explained on the page "The command line"."""

from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Option

from attention_book.cli.app import app, escape_controls, print_error
from attention_book.cli.options import DeviceName, PrecisionName
from attention_book.compute import get_compute_config
from attention_book.generation.classifier import DIGITS, Classifier


__all__ = []


@app.command("classify")
def _classify(
    images: Annotated[
        list[Path], Argument(help="Image files with a digit in each.")
    ],
    model: Annotated[
        Path,
        Option(
            help="A file of a Classifier.", show_default="the book's own model"
        ),
    ] = DIGITS,
    n: Annotated[
        int, Option("--n", "-n", help="How many guesses to show.", min=1)
    ] = 1,
    device: DeviceName = "auto",
    precision: PrecisionName = "auto",
) -> None:
    """Say which digit an image shows, handwritten or printed."""
    model_bytes = model.stat().st_size
    compute = get_compute_config(device, precision, model_bytes=model_bytes)
    classifier = Classifier.load(model, compute)
    is_wrong = False
    for image in images:
        try:
            guesses = classifier.classify(image)
        except (OSError, ValueError) as error:
            if len(images) == 1:
                raise
            print_error(error)
            is_wrong = True
            continue
        text = ", ".join(f"{label} {prob:.1%}" for label, prob in guesses[:n])
        name = f"{escape_controls(str(image))}: " if len(images) > 1 else ""
        typer.echo(f"{name}{text}")
        _, most = guesses[0]
        if not most >= classifier.threshold:  # nor if it is no number
            print_error(
                f"{image}: not sure of this one ({most:.2%} is below "
                f"{classifier.threshold:.1%})"
            )
    if is_wrong:
        raise typer.Exit(1)
