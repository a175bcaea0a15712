# Made from docs/source/cli.md (9e4271c64ff3). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""The command `corpus`. Explained on the page "The command line"."""

from typing import Annotated

from rich.box import SIMPLE
from rich.table import Table
from typer import Argument, Option

from attention_book.cli.app import app, escape_controls, make_console
from attention_book.data.sources import CORPUS_HELP, load_corpus
from attention_book.tokenizers.punctuation import detokenize


__all__ = []


@app.command("corpus")
def _show_corpus(
    name: Annotated[str, Argument(help=CORPUS_HELP)] = "grammar",
    n: Annotated[
        int, Option("--n", "-n", help="How many pairs to show.", min=0)
    ] = 8,
) -> None:
    """Preview a corpus and count what is in it."""
    corpus = load_corpus(name)
    console = make_console()
    parts = {"training": corpus.train, **corpus.tests}
    columns = ("part", "pairs", "words a source", "characters a target")
    counts = Table(*columns, box=SIMPLE)
    for part, pairs in parts.items():
        words = sum(len(source.split()) for source, _ in pairs)
        characters = sum(len(detokenize(target)) for _, target in pairs)
        means = [f"{total / len(pairs):.1f}" for total in (words, characters)]
        counts.add_row(part, f"{len(pairs):,}", *means)
    console.print(counts)
    some = Table("source", "target", box=SIMPLE)
    for source, target in corpus.train[:n]:
        pair = detokenize(source), detokenize(target)
        some.add_row(*map(escape_controls, pair))
    if n:
        console.print(some)
