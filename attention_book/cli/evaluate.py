# Made from docs/source/cli.md (ac42a44ac74e). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""The command evaluate. Explained on the page "The command line"."""

import time
from typing import Annotated

from rich.box import SIMPLE
from rich.table import Table
from typer import Option

from attention_book.cli.app import app, make_console
from attention_book.cli.options import (
    BEAM_SIZE,
    BeamSize,
    DeviceName,
    ModelFile,
    PrecisionName,
)
from attention_book.compute import get_compute_config
from attention_book.data.sources import CORPUS_HELP, load_corpus
from attention_book.generation.scores import references_of, score
from attention_book.generation.translator import EVERYDAY, Translator
from attention_book.tokenizers.directions import space_scripts
from attention_book.tokenizers.punctuation import detokenize


__all__ = []


@app.command("evaluate")
def _evaluate(
    corpus: Annotated[str, Option(help=CORPUS_HELP)],
    model: ModelFile = EVERYDAY,
    n: Annotated[
        int, Option("--n", "-n", help="How many of each test.", min=1)
    ] = 1000,
    beam: BeamSize = BEAM_SIZE,
    device: DeviceName = "auto",
    precision: PrecisionName = "auto",
) -> None:
    """Score a translator on sentences that it was not trained on."""
    score(["."], ["."])  # that sacrebleu is there shows now, not at the end
    translator = Translator.load(model, get_compute_config(device, precision))
    columns = ("test", "sentences", "exact", "BLEU", "chrF", "seconds")
    table = Table(*columns, box=SIMPLE)
    tests = load_corpus(corpus).tests
    if translator.is_bidirectional:
        turned = {
            f"{name}, turned": [(y, x) for x, y in pairs]
            for name, pairs in tests.items()
        }
        tests = tests | turned
    for name, pairs in tests.items():
        known = references_of(
            (source, space_scripts(detokenize(target)))
            for source, target in pairs[:n]
        )
        sources = [*known]
        for source in sources:
            try:
                translator.encode(source)
            except ValueError as error:
                raise ValueError(f"{corpus}: {error}") from None
        began = time.perf_counter()
        outputs = translator.translate(sources, beam_size=beam)
        elapsed = time.perf_counter() - began
        metrics = score(outputs, [*known.values()])
        cells = [f"{number:.1f}" for number in (*metrics, elapsed)]
        table.add_row(name, f"{len(sources):,}", *cells)
    make_console().print(table)
