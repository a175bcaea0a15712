# Made from docs/source/grammar.md (25caffc8a2f1). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""Training and test sets, split by pairs of words.

Explained in the chapter "A corpus".
"""

import hashlib
import random
from collections import Counter
from typing import NamedTuple

from attention_book.data.grammar import Grammar, sentence


__all__ = ["Split", "is_held_out", "make_split"]


class Split(NamedTuple):
    """Sentences, each as its English and its Chinese."""

    train: list[tuple[str, str]]
    sentences: list[tuple[str, str]]  # unseen, of pairs in use
    combinations: list[tuple[str, str]]  # each with a held-out pair


def is_held_out(pair: tuple[str, str]) -> bool:
    """Whether training must never see these two words together."""
    digest = hashlib.sha256(" ".join(pair).encode()).digest()
    return digest[0] < 26  # of 256: a tenth


def make_split(
    n_train: int, n_test: int, seed: int = 0, grammar: Grammar = sentence
) -> Split:
    """Draw sentences without repetition until every part is full.

    Both tests have n_test sentences, equally many of each English length.
    """
    rng = random.Random(seed)
    split = Split([], [], [])
    seen = set[str]()
    missing = Counter[int]()  # lengths that split.sentences still lacks
    sizes = (n_train, n_test, n_test)
    while any(len(p) < n for p, n in zip(split, sizes, strict=True)):
        phrase = grammar(rng)
        if phrase.english in seen:
            continue
        seen.add(phrase.english)
        pair = (phrase.english, phrase.chinese)
        length = len(phrase.english.split())
        if any(is_held_out(words) for words in phrase.pairs):
            if len(split.combinations) < n_test:
                split.combinations.append(pair)
                missing[length] += 1
        elif missing[length] > 0:
            split.sentences.append(pair)
            missing[length] -= 1
        elif len(split.train) < n_train:
            split.train.append(pair)
    return split
