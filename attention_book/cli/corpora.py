# Made from docs/source/cli.md (7f3f4464e4a0). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
from typing import Annotated, NamedTuple

from rich.box import SIMPLE
from rich.table import Table
from typer import Argument, Option

from attention_book.cli.app import app, escape_controls, make_console
from attention_book.data.cleaning import clean, split_pairs
from attention_book.data.outliers import draw_outliers
from attention_book.data.punctuation import detokenize
from attention_book.data.readers import (
    Pair,
    read_catalogues,
    read_dataset,
    read_tsv,
)
from attention_book.data.split import make_split
from attention_book.data.wide_grammar import make_wide_split
from attention_book.tokenizers.bpe import BPETokenizer
from attention_book.tokenizers.special_tokens import UNSURE
from attention_book.tokenizers.words import Tokenizer, WordTokenizer


__all__ = ["CORPUS_HELP", "Corpus", "load_corpus", "train_tokenizers"]


class Corpus(NamedTuple):
    """What to learn from, and what to be tested on, under a name each."""

    train: list[Pair]
    tests: dict[str, list[Pair]]


def load_corpus(name: str, n_test: int = 1000) -> Corpus:
    """Read or make a corpus.

    Raises:
        ValueError: There is no such corpus, or not enough in it.
    """
    if name in ("grammar", "wide"):
        if name == "grammar":
            train, *tests = make_split(n_train=60_000, n_test=n_test)
        else:
            train, *tests = make_wide_split(n_train=250_000, n_test=n_test)
            sentences = [english for english, _ in train]
            outliers = draw_outliers(sentences, 150_000)
            # Short sentences are few, as none is drawn twice.
            short = [pair for pair in train if len(pair[0].split()) <= 4]
            train += 4 * short + [(text, UNSURE) for text in outliers]
        kinds = ("unseen sentences", "unseen combinations")
        return Corpus(train, dict(zip(kinds, tests, strict=True)))
    if name == "catalogues":
        pairs = read_catalogues()
    elif name.startswith("dataset:"):
        pairs = read_dataset(name.removeprefix("dataset:"))
    elif name.endswith(".tsv"):
        pairs = read_tsv(name)
    else:
        raise ValueError(
            "corpus must be grammar, wide, catalogues, dataset:NAME or a .tsv "
            f"file, got {name!r}"
        )
    pairs = clean(pairs)
    if len(pairs) < 20:
        raise ValueError(
            f"{name}: wanted 20 pairs or more to learn from, got {len(pairs)}"
        )
    try:
        train, test = split_pairs(pairs, min(n_test, len(pairs) // 10))
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None
    return Corpus(train, {"unseen sentences": test})


def train_tokenizers(
    corpus: Corpus, name: str, vocab_size: int
) -> tuple[Tokenizer, Tokenizer]:
    """Train the tokenizers of both sides; real corpora share one."""
    if name in ("grammar", "wide"):
        sources, targets = zip(*corpus.train, strict=True)
        return WordTokenizer.train(sources), WordTokenizer.train(targets)
    texts = (text for pair in corpus.train for text in pair)
    both = BPETokenizer.train(texts, vocab_size)
    return both, both


CORPUS_HELP = "grammar, wide, catalogues, dataset:NAME, or a .tsv file"


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
