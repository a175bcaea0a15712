# Made from docs/source/cli.md (b41fa5d03816). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""The command translate. Explained on the page "The command line"."""

import itertools
import json
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Annotated, Any, NamedTuple

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
from attention_book.cli.options import (
    BEAM_SIZE,
    BeamSize,
    DeviceName,
    ModelFile,
    PrecisionName,
)
from attention_book.compute import ComputeConfig, get_compute_config
from attention_book.generation.alignment import cross_weights
from attention_book.generation.confidence import Translation
from attention_book.generation.translator import EVERYDAY, Translator


__all__ = ["doubt"]


@app.command("translate")
def _translate(
    texts: Annotated[
        list[str] | None,
        Argument(
            help="Sentences, each in quotes; words alone are one sentence.",
            show_default="standard input",
        ),
    ] = None,
    file: Annotated[
        Path | None,
        Option(help="Translate each line of this file; - is standard input."),
    ] = None,
    model: ModelFile = EVERYDAY,
    checkpoint: Annotated[
        Path | None,
        Option(help="A folder with a Marian model, instead of --model."),
    ] = None,
    beam: BeamSize = BEAM_SIZE,
    device: DeviceName = "auto",
    precision: PrecisionName = "auto",
    show_attention: Annotated[
        bool, Option("--show-attention", help="Draw the cross-attention.")
    ] = False,
    as_json: Annotated[
        bool, Option("--json", help="Print an object with its confidence.")
    ] = False,
) -> None:
    """Translate sentences, by default with the book's model."""
    if texts and file:
        raise typer.BadParameter("give sentences or --file, not both")
    if checkpoint and model != EVERYDAY:
        raise typer.BadParameter("give --model or --checkpoint, not both")
    weights = checkpoint / "model.safetensors" if checkpoint else model
    n_bytes = weights.stat().st_size
    compute = get_compute_config(device, precision, model_bytes=n_bytes)
    with _open_source(texts, file) as source:
        translator = _load(model, checkpoint, compute)
        is_empty, is_wrong = True, False
        for line, translation in _translate_lines(translator, source, beam):
            if line.error:
                print_error(f"{line.place}{line.error}")
            elif translation.is_sure is False:  # and None where none is known
                print_error(f"{line.place}{doubt(translation)}")
            if line.text and not translation.text:
                print_error(f"{line.place}the translation is empty")
            if as_json:
                typer.echo(_to_json(line, translation))
            elif translation.text or source.prefix:  # empty lines stay empty
                typer.echo(escape_controls(translation.text))
            if show_attention and translation.text:
                _draw_attention(translator, line.text, beam)
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
    if not (found.tokenizers and isinstance(found.model, MarianTransformer)):
        raise ValueError(
            f"{checkpoint}: wanted a Marian model with vocab.json, "
            f"source.spm and target.spm, got a {type(found.model).__name__}"
        )
    source, target = found.tokenizers
    return Translator(found.model, source, target, compute)


_CHUNK = 128  # lines that are translated together
_MAX_BYTES = 1_000_000  # of a line


class _Source(NamedTuple):
    """Lines to translate, and what messages call them."""

    name: str
    chunks: Iterable[Sequence[str | bytes]]
    prefix: str  # of a line's number; "" for a sentence on its own


@contextmanager
def _open_source(
    texts: list[str] | None, file: Path | None
) -> Iterator[_Source]:
    """Open a file, standard input, or the sentences that were given."""
    if texts:
        if not any(re.search(r"\s", text) for text in texts):
            texts = [" ".join(texts)]  # a sentence that lacks its quotes
        lines = [s for text in texts for s in text.rstrip("\r\n").split("\n")]
        yield _Source("sentences", [lines], "line " if len(lines) > 1 else "")
        return
    path = None if str(file) == "-" else file
    if path is None and sys.stdin.isatty():  # somebody is typing
        end = "Ctrl-Z and Enter" if sys.platform == "win32" else "Ctrl-D"
        typer.echo(f"Type one sentence a line; {end} ends.", err=True)
    name = str(path or "standard input")
    stdin: Any = nullcontext(sys.stdin.buffer)
    with path.open("rb") if path else stdin as opened:
        yield _Source(name, _read_lines(opened, name), f"{name}:")


def _read_lines(file: Any, name: str) -> Iterator[list[bytes]]:
    """Yield lines as soon as they come, and no more than _CHUNK at a time."""
    rest = b""
    while data := file.read1(1 << 16):
        *lines, rest = (rest + data).split(b"\n")
        for start in range(0, len(lines), _CHUNK):
            yield lines[start : start + _CHUNK]
        if len(rest) > _MAX_BYTES:
            raise ValueError(
                f"{name}: wanted lines of at most {_MAX_BYTES:,} bytes, "
                "got a longer one; is it a text file?"
            )
    if rest:
        yield [rest]


class _Line(NamedTuple):
    """A line of a source: its text, or what is wrong with it."""

    place: str  # to begin a message with
    text: str = ""  # "" where it is blank
    error: str = ""
    wrong: str = ""  # the text that can't be read


def _read_line(translator: Translator, data: str | bytes, place: str) -> _Line:
    """Decode a line, and see whether the translator can read it."""
    try:
        text = data if isinstance(data, str) else data.decode("utf-8")
        text = text.removeprefix("\ufeff").strip()  # a byte order mark
        if "\0" in text:
            raise ValueError("wanted text, got a NUL byte")
        if text:
            translator.encode(text)
    except UnicodeDecodeError as error:
        byte = f"byte 0x{error.object[error.start]:x} at {error.start}"
        return _Line(place, error=f"wanted UTF-8, got {byte}")
    except ValueError as error:
        return _Line(place, error=str(error), wrong=text)
    return _Line(place, text)


def _translate_lines(
    translator: Translator, source: _Source, beam: int
) -> Iterator[tuple[_Line, Translation]]:
    """Yield each line with its translation, in order."""
    numbers = itertools.count(1)
    for chunk in source.chunks:
        lines = []
        for data in chunk:
            number = f"{source.prefix}{next(numbers)}: "
            place = number if source.prefix else ""
            lines.append(_read_line(translator, data, place))
        texts = [line.text for line in lines if line.text]
        found = iter(
            translator.translate_with_confidence(texts, beam_size=beam)
        )
        for line in lines:
            nothing = Translation("", float(not line.error), not line.error)
            yield line, next(found) if line.text else nothing


def doubt(translation: Translation) -> str:
    """Say what got lost, or how unsure the model is."""
    if lost := escape_controls(", ".join(translation.lost)):
        return f"not sure of this one: it has lost {lost}"
    return f"not sure of this one ({translation.confidence:.0%})"


def _to_json(line: _Line, translation: Translation) -> str:
    """Return an object of source, translation, confidence, sure and error."""
    found: dict[str, Any] = {
        "source": line.text or line.wrong,
        "translation": translation.text,
        "confidence": round(translation.confidence, 4),
        "sure": translation.is_sure,
    }
    if translation.lost:
        found["lost"] = translation.lost
    if line.error:
        found["error"] = line.error
    return escape_controls(json.dumps(found, ensure_ascii=False))


def _draw_attention(translator: Translator, text: str, beam: int) -> None:
    """Print the mean cross-attention weights of each token generated."""
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
