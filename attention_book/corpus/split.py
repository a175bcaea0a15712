# Made from docs/chapters/11-corpus.md (d7e2fdc9b952). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
import hashlib
import random
from typing import NamedTuple

from attention_book.corpus.grammar import sentence


def is_held_out(pair: tuple[str, str]) -> bool:
    """Whether training must never see these two words together."""
    digest = hashlib.sha256(" ".join(pair).encode()).digest()
    return digest[0] < 26  # of 256: a tenth


class Split(NamedTuple):
    """Sentences, each as its English and its Chinese."""

    train: list[tuple[str, str]]
    sentences: list[tuple[str, str]]  # unseen, of pairs in use
    combinations: list[tuple[str, str]]  # each with a held-out pair


def make_split(n_train: int, n_test: int, seed: int = 0) -> Split:
    """Draw sentences without repetition until every part is full."""
    rng = random.Random(seed)
    split = Split([], [], [])
    seen = set[str]()
    while len(split.combinations) < n_test or len(split.train) < n_train:
        said = sentence(rng)
        if said.english in seen:
            continue
        seen.add(said.english)
        part = split.train
        size = n_train
        if any(is_held_out(pair) for pair in said.pairs):
            part = split.combinations
            size = n_test
        elif len(split.sentences) < n_test:
            part = split.sentences
            size = n_test
        if len(part) < size:
            part.append((said.english, said.chinese))
    return split
