# Made from docs/chapters/40-cli.md (e0a917d6f195). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
import sys
import time
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
    load_translator,
    make_console,
)
from attention_book.cli.corpora import CORPUS_HELP, load_corpus
from attention_book.corpus.special_tokens import SPECIAL_TOKENS
from attention_book.corpus.tokenizers import WordTokenizer, detokenize
from attention_book.decoding.alignment import cross_weights
from attention_book.decoding.scores import score
from attention_book.fast_decoding.translator import GRAMMAR, Translator
from attention_book.runtime import get_compute_config


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
        bool, Option("--show-attention", help="Draw where it looks.")
    ] = False,
) -> None:
    """Translate English sentences, by default with the book's model."""
    if texts and file:
        raise typer.BadParameter("give sentences or --file, not both")
    compute = get_compute_config(device, precision)
    lines = texts or read_lines(file)
    translator = load_translator(model, compute)
    for number, line in enumerate(lines, 1):
        check_line(translator, line, number if len(lines) > 1 else 0)
    wanted = [line for line in lines if line.strip()]
    found = iter(translator.translate(wanted, beam=beam))
    for line in lines:  # an empty line stays empty
        typer.echo(translation := next(found) if line.strip() else "")
        if show_attention and translation:
            draw_attention(translator, line, beam)


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
            translator.read(line)
    except ValueError as error:
        where = f"line {number}: " if number else ""
        known = ""
        if isinstance(translator.source, WordTokenizer) and line.strip():
            n = len(translator.source) - len(SPECIAL_TOKENS)
            known = f" (this model knows {n}; see: attention-book corpus)"
        raise ValueError(f"{where}{error}{known}") from None


def draw_attention(translator: Translator, text: str, beam: int) -> None:
    """Print how much each word written looked at each word read."""
    source = translator.read(text)
    (target,) = translator.write([source], beam)
    weights = cross_weights(translator.model, source, target)
    shares = weights.mean((0, 1)).tolist()  # of all layers and heads
    heads = [translator.source.decode([word]) for word in source]
    table = Table(*heads, "", box=SIMPLE)
    for word, row in zip(target, shares, strict=True):
        cells = [" ░▒▓█"[min(4, int(5 * share))] * 3 for share in row]
        table.add_row(*cells, translator.target.decode([word]) or "<eos>")
    make_console().print(table)


@app.command()
def evaluate(
    model: ModelFile = GRAMMAR,
    corpus: Annotated[str, Option(help=CORPUS_HELP)] = "grammar",
    n: Annotated[
        int, Option("--n", "-n", help="How many of each test.", min=1)
    ] = 1000,
    beam: BeamSize = 1,
    device: DeviceName = "auto",
    precision: PrecisionName = "auto",
) -> None:
    """Score a translator on sentences that it was not trained on."""
    translator = load_translator(model, get_compute_config(device, precision))
    columns = ("test", "sentences", "exact", "BLEU", "chrF", "seconds")
    table = Table(*columns, box=SIMPLE)
    for name, pairs in load_corpus(corpus).tests.items():
        sources, targets = zip(*pairs[:n], strict=True)
        for source in sources:
            check_line(translator, source, 0)
        start = time.perf_counter()
        outputs = translator.translate(sources, beam=beam)
        seconds = time.perf_counter() - start
        scores = score(outputs, [detokenize(target) for target in targets])
        cells = [f"{share:.1f}" for share in (*scores, seconds)]
        table.add_row(name, f"{len(sources):,}", *cells)
    make_console().print(table)
