# Made from docs/source/wide-grammar.md (8ca13a3a7182). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
import random
from typing import NamedTuple

from attention_book._checks import check_size
from attention_book.data.tags import tag_words
from attention_book.data.wide_grammar import draw_construction


__all__ = ["LabelledSentence", "draw_sentences"]


class LabelledSentence(NamedTuple):
    """A sentence of the wide grammar and what there is to predict of it."""

    english: str  # tokens, with spaces between them
    tags: list[str]  # one for each token
    construction: str
    chinese: str


def draw_sentences(n: int, seed: int = 0) -> list[LabelledSentence]:
    """Draw n sentences, no two of them the same.

    Raises:
        ValueError: n is no positive whole number.
    """
    check_size("n", n)
    rng = random.Random(seed)
    found: dict[str, LabelledSentence] = {}
    while len(found) < n:
        kind, (english, chinese, *_) = draw_construction(rng)
        tags = tag_words(english)
        found[english] = LabelledSentence(english, tags, kind, chinese)
    return list(found.values())
