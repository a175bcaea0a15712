"""Sentences of the wide grammar with their construction and translation."""

import random
from typing import NamedTuple

from corpora.wide.grammar import draw_construction


__all__ = ["LabelledSentence", "draw_sentences"]


class LabelledSentence(NamedTuple):
    """A sentence of the wide grammar and what there is to predict of it."""

    english: str  # tokens, with spaces between them
    construction: str
    chinese: str


def draw_sentences(n: int, seed: int = 0) -> list[LabelledSentence]:
    """Draw n sentences, no two of them the same."""
    rng = random.Random(seed)
    found: dict[str, LabelledSentence] = {}
    while len(found) < n:
        kind, (english, chinese, *_) = draw_construction(rng)
        found[english] = LabelledSentence(english, kind, chinese)
    return list(found.values())
