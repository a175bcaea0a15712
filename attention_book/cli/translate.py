# Made from docs/source/cli.md (045cdabf5e36). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
import codecs
import contextlib
import io
import json
import os
import stat
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer
from typer import Argument, Option

from attention_book.cli.app import (
    app,
    escape_controls,
    make_console,
    print_error,
)
from attention_book.cli.options import (
    BeamSize,
    DeviceName,
    ModelFile,
    PrecisionName,
)
from attention_book.compute import ComputeConfig, get_compute_config
from attention_book.generation.alignment import cross_weights
from attention_book.generation.confidence import Translation
from attention_book.generation.translator import GRAMMAR, Translator
from attention_book.tokenizers.special_tokens import SPECIAL_TOKENS
from attention_book.tokenizers.words import WordTokenizer


__all__ = [
    "Line",
    "Source",
    "check_line",
    "doubt",
    "read_lines",
    "translate",
]


@app.command()
def translate(
    texts: Annotated[
        list[str] | None,
        Argument(
            help="Sentences, each in quotes.", show_default="standard input"
        ),
    ] = None,
    file: Annotated[
        Path | None,
        Option(help="Translate each line of this file; - is standard input."),
    ] = None,
    model: ModelFile = GRAMMAR,
    checkpoint: Annotated[
        Path | None,
        Option(help="A folder with a Marian model, instead of --model."),
    ] = None,
    beam: BeamSize = 1,
    device: DeviceName = "auto",
    precision: PrecisionName = "auto",
    show_attention: Annotated[
        bool, Option("--show-attention", help="Draw the cross-attention.")
    ] = False,
    as_json: Annotated[
        bool, Option("--json", help="Print an object with its confidence.")
    ] = False,
) -> None:
    """Translate English sentences, by default with the book's model."""
    if texts and file:
        raise typer.BadParameter("give sentences or --file, not both")
    if checkpoint and model != GRAMMAR:
        raise typer.BadParameter("give --model or --checkpoint, not both")
    weights = checkpoint / "model.safetensors" if checkpoint else model
    is_there = weights.exists() or not checkpoint
    n_bytes = weights.stat().st_size if is_there else 0
    compute = get_compute_config(device, precision, model_bytes=n_bytes)
    with _open_source(texts, file) as source, _progress(source) as advance:
        translator = _load(model, checkpoint, compute)
        is_empty, is_wrong = True, False
        for line, translation in _translate_lines(translator, source, beam):
            if line.error:
                print_error(line.error)
            elif not translation.is_sure:
                print_error(f"{line.place}{doubt(translation)}")
            if as_json:
                typer.echo(_to_json(line, translation))
            elif translation.text or source.prefix:  # empty lines stay empty
                typer.echo(escape_controls(translation.text))
            if show_attention and translation.text:
                _draw_attention(translator, line.text, beam)
            advance(line.size)
            is_empty &= not (line.text or line.error)
            is_wrong |= bool(line.error)
    if is_empty:
        raise ValueError(f"{source.name}: nothing to translate, got 0 words")
    if is_wrong:
        raise typer.Exit(1)


def _load(
    model: Path, checkpoint: Path | None, compute: ComputeConfig
) -> Translator:
    """Make the translator of a file, or of a folder with a Marian model."""
    if checkpoint is None:
        return Translator.load(model, compute)
    from attention_book.io.pretrained.folders import from_pretrained
    from attention_book.io.pretrained.marian import MarianTransformer

    found = from_pretrained(checkpoint)
    if not isinstance(found.model, MarianTransformer):
        raise ValueError(
            f"{checkpoint}: wanted a Marian model, got a "
            f"{type(found.model).__name__}"
        )
    if not found.tokenizers:
        raise FileNotFoundError(
            f"{checkpoint}: wanted vocab.json, source.spm and target.spm, "
            "got no vocab.json"
        )
    source, target = found.tokenizers
    return Translator(found.model, source, target, compute)


_CHUNK = 128  # lines that are translated together
_MAX_BYTES = 1_000_000  # of a line


class Source(NamedTuple):
    """Lines to translate, and what messages call them."""

    name: str
    file: io.BufferedIOBase
    prefix: str  # of a line's number; "" for a sentence on its own


class Line(NamedTuple):
    """A line of a source: its text, or what is wrong with it."""

    text: str  # "" where it is blank
    error: str
    size: int  # bytes
    place: str = ""  # to begin a message with


@contextlib.contextmanager
def _open_source(
    texts: list[str] | None, file: Path | None
) -> Iterator[Source]:
    """Open a file, standard input, or sentences as if they were a file."""
    if texts:
        lines = "\n".join(text.rstrip("\r\n") for text in texts)
        data = lines.encode("utf-8", "surrogateescape")  # as it was typed
        prefix = "line " if "\n" in lines else ""
        yield Source("sentences", io.BytesIO(data), prefix)
    elif file is None or str(file) == "-":
        if sys.stdin.isatty():  # somebody is typing
            end = "Ctrl-Z and Enter" if sys.platform == "win32" else "Ctrl-D"
            typer.echo(f"Type one sentence a line; {end} ends.", err=True)
        name = "standard input"
        stdin: Any = sys.stdin.buffer
        yield Source(name, stdin, f"{name}:")
    else:
        with file.open("rb") as opened:
            yield Source(str(file), opened, f"{file}:")


def read_lines(source: Source) -> Iterator[list[bytes]]:
    """Yield lines as soon as they come, and no more than _CHUNK at a time."""
    rest = b""
    try:
        while data := source.file.read1(1 << 16):
            *lines, rest = (rest + data).split(b"\n")
            for start in range(0, len(lines), _CHUNK):
                yield lines[start : start + _CHUNK]
            if len(rest) > _MAX_BYTES:
                raise ValueError(
                    f"{source.name}: wanted lines of at most {_MAX_BYTES:,} "
                    "bytes, got a longer one; is it a text file?"
                )
    except OSError as error:
        raise OSError(error.errno, error.strerror, source.name) from None
    if rest:
        yield [rest]


def check_line(translator: Translator, text: str) -> None:
    """Raise ValueError unless the translator can read this text."""
    try:
        translator.encode(text)
    except ValueError as error:
        known = ""
        by_words = isinstance(translator.source, WordTokenizer)
        if by_words and "unknown" in str(error):
            n = len(translator.source) - len(SPECIAL_TOKENS)
            known = f" (this model knows {n}; see: attention-book corpus)"
        raise ValueError(f"{error}{known}") from None


def _read_line(translator: Translator, data: bytes, place: str) -> Line:
    """Decode a line, and see whether the translator can read it."""
    size = len(data) + 1
    try:
        text = data.decode("utf-8").strip()
        if "\0" in text:
            raise ValueError("wanted text, got a NUL byte")
        if text:
            check_line(translator, text)
    except UnicodeDecodeError as error:
        byte = f"byte 0x{data[error.start]:x} at {error.start}"
        return Line("", f"{place}wanted UTF-8, got {byte}", size, place)
    except ValueError as error:
        return Line("", f"{place}{error}", size, place)
    return Line(text, "", size, place)


def _translate_lines(
    translator: Translator, source: Source, beam: int
) -> Iterator[tuple[Line, Translation]]:
    """Yield each line with its translation, in order."""
    n_before = 0
    for chunk in read_lines(source):
        lines = []
        for number, data in enumerate(chunk, n_before + 1):
            mark = codecs.BOM_UTF8 if number == 1 else b""
            text = data.removeprefix(mark)
            place = f"{source.prefix}{number}: " if source.prefix else ""
            lines.append(_read_line(translator, text, place))
        n_before += len(lines)
        texts = [line.text for line in lines if line.text]
        found = iter(
            translator.translate_with_confidence(texts, beam_size=beam)
        )
        for line in lines:
            nothing = Translation("", float(not line.error), not line.error)
            yield line, next(found) if line.text else nothing


def doubt(translation: Translation) -> str:
    """Say how unsure the model is, and what it is good at."""
    return (
        f"not sure of this one ({translation.confidence:.0%}); it knows "
        'simple sentences like "Yesterday Tom found a key in the garden."'
    )


def _to_json(line: Line, translation: Translation) -> str:
    """Return an object of source, translation, confidence and sure."""
    found = {
        "source": line.text,
        "translation": translation.text,
        "confidence": round(translation.confidence, 4),
        "sure": translation.is_sure,
    }
    return escape_controls(json.dumps(found, ensure_ascii=False))


@contextlib.contextmanager
def _progress(source: Source) -> Iterator[Callable[[int], object]]:
    """Show how much of a file is done, if nothing else on the screen does."""
    console = make_console(stderr=True)
    try:
        status = os.fstat(source.file.fileno())
    except io.UnsupportedOperation:  # sentences
        status = None
    if (
        not console.is_terminal
        or sys.stdout.isatty()
        or status is None
        or not stat.S_ISREG(status.st_mode)
    ):
        yield lambda _: None
        return
    from rich.progress import Progress

    with Progress(
        console=console, transient=True, redirect_stdout=False
    ) as progress:
        task = progress.add_task(source.name, total=status.st_size)
        yield partial(progress.advance, task)


def _draw_attention(translator: Translator, text: str, beam: int) -> None:
    """Print the mean cross-attention weights of each token generated."""
    from rich.box import SIMPLE
    from rich.table import Table

    source = translator.encode(text)
    (target,) = translator.generate([source], beam)
    weights = cross_weights(translator.model, source, target)
    mean = weights.mean((0, 1)).tolist()  # of all layers and heads
    heads = [translator.source.decode([token]) for token in source]
    table = Table(*map(escape_controls, heads), "", box=SIMPLE)
    for token, row in zip(target, mean, strict=True):
        cells = [" ░▒▓█"[min(4, int(5 * weight))] * 3 for weight in row]
        head = escape_controls(translator.target.decode([token]))
        table.add_row(*cells, head or "<eos>")
    make_console().print(table)
