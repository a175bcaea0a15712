# Made from docs/source/texts.md (b7ed8d2955d3). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""Corpora by name: the grammar's, this machine's, a data set's, a file's.

Explained on the page "Real corpora".
"""

from typing import NamedTuple

from attention_book.data.cleaning import clean, split_pairs
from attention_book.data.readers import (
    Pair,
    read_catalogues,
    read_dataset,
    read_tsv,
)
from attention_book.data.split import make_split
from attention_book.tokenizers.bpe import BPETokenizer
from attention_book.tokenizers.words import Tokenizer, WordTokenizer


__all__ = ["CORPUS_HELP", "Corpus", "load_corpus", "train_tokenizers"]


CORPUS_HELP = "grammar, catalogues, dataset:NAME, or a .tsv file"


class Corpus(NamedTuple):
    """What to learn from, and what to be tested on, under a name each."""

    train: list[Pair]
    tests: dict[str, list[Pair]]


def load_corpus(name: str, n_test: int = 1000) -> Corpus:
    """Read or make a corpus.

    Args:
        name: "grammar", "catalogues", "dataset:NAME" or the path of a .tsv
            file.
        n_test: Pairs in each test; at most a tenth of a real corpus.

    Raises:
        ValueError: There is no such corpus, or not enough in it.
    """
    if name == "grammar":
        train, *tests = make_split(n_train=60_000, n_test=n_test)
        kinds = ("unseen sentences", "unseen combinations")
        return Corpus(train, dict(zip(kinds, tests, strict=True)))
    if name == "catalogues":
        pairs = read_catalogues()
    elif name.startswith("dataset:"):
        pairs = read_dataset(name.removeprefix("dataset:"))
    elif name.lower().endswith(".tsv"):
        pairs = read_tsv(name)
    else:
        raise ValueError(
            "corpus must be grammar, catalogues, dataset:NAME or a .tsv "
            f"file, got {name!r}"
        )
    n_read = len(pairs)
    pairs = clean(pairs)
    if len(pairs) < 20:
        raise ValueError(
            f"{name}: wanted 20 pairs or more to learn from, got {len(pairs)} "
            f"of the {n_read} read (repeated, lopsided and other bad ones go)"
        )
    try:
        train, test = split_pairs(pairs, min(n_test, len(pairs) // 10))
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None
    return Corpus(train, {"unseen sentences": test})


def train_tokenizers(
    corpus: Corpus, name: str, vocab_size: int
) -> tuple[Tokenizer, Tokenizer]:
    """Train the tokenizers of both sides; real corpora share one.

    Args:
        corpus: What load_corpus returned.
        name: The name that it was asked for.
        vocab_size: Most subwords of a real corpus.
    """
    if name == "grammar":
        sources, targets = zip(*corpus.train, strict=True)
        return WordTokenizer.train(sources), WordTokenizer.train(targets)
    texts = (text for pair in corpus.train for text in pair)
    both = BPETokenizer.train(texts, vocab_size)
    return both, both
