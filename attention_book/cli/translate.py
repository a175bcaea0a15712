# Made from docs/chapters/40-cli.md (d99ac46a5c2b). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.box import SIMPLE
from rich.table import Table
from typer import Argument, Option

from attention_book.cli.app import (
    BeamSize,
    DeviceName,
    ModelFile,
    PrecisionName,
    app,
    make_console,
    refuse_folder,
)
from attention_book.corpus.special_tokens import SPECIAL_TOKENS
from attention_book.corpus.tokenizers import WordTokenizer
from attention_book.decoding.alignment import cross_weights
from attention_book.fast_decoding.translator import GRAMMAR, Translator
from attention_book.runtime import get_compute_config


__all__ = ["check_line", "read_lines", "translate"]


@app.command()
def translate(
    texts: Annotated[
        list[str] | None,
        Argument(
            help="Sentences, each in quotes.", show_default="standard input"
        ),
    ] = None,
    file: Annotated[
        Path | None, Option(help="Translate each line of this file.")
    ] = None,
    model: ModelFile = GRAMMAR,
    beam: BeamSize = 1,
    device: DeviceName = "auto",
    precision: PrecisionName = "auto",
    show_attention: Annotated[
        bool, Option("--show-attention", help="Draw the cross-attention.")
    ] = False,
) -> None:
    """Translate English sentences, by default with the book's model."""
    if texts and file:
        raise typer.BadParameter("give sentences or --file, not both")
    refuse_folder(model)
    model_bytes = model.stat().st_size
    compute = get_compute_config(device, precision, model_bytes=model_bytes)
    lines = texts or read_lines(file)
    translator = Translator.load(model, compute)
    for number, line in enumerate(lines, 1):
        check_line(translator, line, number if len(lines) > 1 else 0)
    wanted = [line for line in lines if line.strip()]
    found = iter(translator.translate(wanted, beam_size=beam))
    for line in lines:  # an empty line stays empty
        typer.echo(translation := next(found) if line.strip() else "")
        if show_attention and translation:
            _draw_attention(translator, line, beam)


def read_lines(file: Path | None) -> list[str]:
    """Read the lines of a file, or of standard input."""
    name = str(file or "standard input")
    if not file and sys.stdin.isatty():  # somebody is typing
        end = "Ctrl-Z and Enter" if sys.platform == "win32" else "Ctrl-D"
        typer.echo(f"Type one sentence a line; {end} ends.", err=True)
    data = file.read_bytes() if file else sys.stdin.buffer.read()
    try:
        text = data.decode("utf-8-sig").removesuffix("\n")
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{name}: wanted UTF-8, got another byte at {error.start}"
        ) from None
    if not text.strip():
        raise ValueError(f"{name}: nothing to translate")
    return [line.removesuffix("\r") for line in text.split("\n")]


def check_line(translator: Translator, line: str, number: int) -> None:
    """Raise ValueError, with the line's number, unless it can be read."""
    try:
        if line.strip() or not number:
            translator.encode(line)
    except ValueError as error:
        where = f"line {number}: " if number else ""
        known = ""
        if isinstance(translator.source, WordTokenizer) and line.strip():
            n = len(translator.source) - len(SPECIAL_TOKENS)
            known = f" (this model knows {n}; see: attention-book corpus)"
        raise ValueError(f"{where}{error}{known}") from None


def _draw_attention(translator: Translator, text: str, beam: int) -> None:
    """Print the mean cross-attention weights of each token generated."""
    source = translator.encode(text)
    (target,) = translator.generate([source], beam)
    weights = cross_weights(translator.model, source, target)
    mean = weights.mean((0, 1)).tolist()  # of all layers and heads
    heads = [translator.source.decode([token]) for token in source]
    table = Table(*heads, "", box=SIMPLE)
    for token, row in zip(target, mean, strict=True):
        cells = [" ░▒▓█"[min(4, int(5 * weight))] * 3 for weight in row]
        table.add_row(*cells, translator.target.decode([token]) or "<eos>")
    make_console().print(table)
