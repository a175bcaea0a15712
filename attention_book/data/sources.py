# Made from docs/source/texts.md (c251615661c5). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""Corpora by name: the grammar's, or a file's.

Explained on the page "Real corpora".
"""

from typing import NamedTuple

from attention_book.data.cleaning import clean, split_pairs
from attention_book.data.readers import Pair, read_tsv
from attention_book.data.split import make_split
from attention_book.tokenizers.bpe import BPETokenizer
from attention_book.tokenizers.directions import (
    DIRECTIONS,
    space_scripts,
    with_direction,
)
from attention_book.tokenizers.words import Tokenizer, WordTokenizer


__all__ = [
    "CORPUS_HELP",
    "Corpus",
    "both_directions",
    "load_corpus",
    "train_tokenizers",
]


CORPUS_HELP = "grammar, or a .tsv or .txt file"


class Corpus(NamedTuple):
    """What to learn from, choose by, and be tested on."""

    train: list[Pair]
    validation: list[Pair]
    tests: dict[str, list[Pair]]  # under a name each


def load_corpus(name: str, n_test: int = 1000) -> Corpus:
    """Read or make a corpus.

    Args:
        name: "grammar", or the path of a .tsv or .txt file.
        n_test: Pairs in each test, and for validation; at most a tenth of a
            real corpus.

    Raises:
        ValueError: There is no such corpus, or not enough in it.
    """
    if name == "grammar":
        train, *tests = make_split(n_train=60_500, n_test=n_test)
        kinds = ("unseen sentences", "unseen combinations")
        named = dict(zip(kinds, tests, strict=True))
        return Corpus(train[:-500], train[-500:], named)
    if not name.lower().endswith((".tsv", ".txt")):
        raise ValueError(
            f"corpus must be grammar or a .tsv or .txt file, got {name!r}"
        )
    found = read_tsv(name)
    pairs = clean(found)
    if len(pairs) < 20:
        raise ValueError(
            f"{name}: wanted 20 pairs or more to learn from, got {len(pairs)} "
            f"of {len(found)} read (repeated, lopsided and other bad ones go)"
        )
    n_test = min(n_test, len(pairs) // 10)
    try:
        rest, test = split_pairs(pairs, n_test)
        train, validation = split_pairs(rest, n_test, seed=1)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None
    return Corpus(train, validation, {"unseen sentences": test})


def both_directions(pairs: list[Pair]) -> list[Pair]:
    """Return pairs to translate in either direction, twice as many.

    Each source begins with the token of the language that is wanted.
    """
    return [
        (with_direction(source), space_scripts(target))
        for pair in pairs
        for source, target in (pair, pair[::-1])
    ]


def train_tokenizers(
    train: list[Pair], name: str, vocab_size: int
) -> tuple[Tokenizer, Tokenizer]:
    """Train the tokenizers of both sides; real corpora share one.

    Args:
        train: The training pairs of load_corpus, or both_directions of them.
        name: The name that the corpus was asked for.
        vocab_size: Most subwords of a real corpus.
    """
    if name == "grammar":
        sources, targets = zip(*train, strict=True)
        return WordTokenizer.train(sources), WordTokenizer.train(targets)
    texts = [text for pair in train for text in pair]
    prefixes = DIRECTIONS if texts[0].startswith(DIRECTIONS) else ()
    both = BPETokenizer.train(texts, vocab_size, prefixes)
    return both, both
