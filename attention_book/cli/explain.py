# Made from docs/source/cli.md (15e40899cf57). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""The command explain. Explained on the page "The command line"."""

from pathlib import Path
from typing import Annotated

import typer
from rich.box import SIMPLE
from rich.table import Table
from typer import Argument, Option

from attention_book.cli.app import (
    app,
    escape_controls,
    make_console,
    print_error,
)
from attention_book.cli.options import BEAM_SIZE, BeamSize
from attention_book.cli.translate import doubt
from attention_book.generation.classifier import DIGITS, Classifier
from attention_book.generation.translator import EVERYDAY, Translator
from attention_book.interpret.explanations import (
    Explanation,
    explain_image,
    explain_sentence,
)
from attention_book.interpret.pictures import to_html
from attention_book.io.files import write_file


__all__ = []


@app.command("explain")
def _explain(
    text: Annotated[
        str | None, Argument(help="A sentence, in quotes.", show_default=False)
    ] = None,
    image: Annotated[
        Path | None, Option(help="An image file with a digit, instead.")
    ] = None,
    html: Annotated[
        Path | None, Option(help="Write a page of heat maps.")
    ] = None,
    model: Annotated[
        Path | None,
        Option(
            help="A file of a translator or classifier.",
            show_default="the book's own models",
        ),
    ] = None,
    beam: BeamSize = BEAM_SIZE,
) -> None:
    """Show on which words, or patches, an answer depends."""
    if html and html.suffix.lower() not in (".html", ".htm"):
        raise typer.BadParameter(f"--html must end in .html, got {html}")
    if (text is None) == (image is None):
        raise typer.BadParameter("give a sentence or --image, one of them")
    if image is not None:
        found = explain_image(Classifier.load(model or DIGITS), image)
        name = str(image)
    else:
        name = text or ""
        if not name.strip():
            raise ValueError("nothing to explain, got 0 words")
        translator = Translator.load(model or EVERYDAY)
        found = explain_sentence(translator, name, beam_size=beam)
        (sure,) = translator.translate_with_confidence([name], beam_size=beam)
        if sure.is_sure is False:
            print_error(doubt(sure))
    typer.echo(escape_controls(found.output))
    title = f"{name} → {found.output}"
    if html:
        write_file(html, to_html(found.heat_maps, title).encode())
    else:
        _print_largest(found)


def _print_largest(explanation: Explanation) -> None:
    """Print the three largest numbers of each row of the last two maps."""
    *_, first, second = explanation.heat_maps
    table = Table("", first.title, second.title, box=SIMPLE)
    for row, name in enumerate(first.row_names):
        cells = [
            ", ".join(
                f"{column} {round(value, 2) + 0:.2f}"
                for column, value in heat_map.largest(row)
            )
            for heat_map in (first, second)
        ]
        table.add_row(*map(escape_controls, (name, *cells)))
    make_console().print(table)
