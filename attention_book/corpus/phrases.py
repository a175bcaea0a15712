# Made from docs/chapters/11-corpus.md (2bf300f73f0f). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
import re
from typing import NamedTuple


Pairs = frozenset[tuple[str, str]]


class Phrase(NamedTuple):
    """The same in both languages."""

    english: str  # tokens, with spaces between them
    chinese: str
    head: str = ""  # its noun
    pairs: Pairs = frozenset()  # words that it brings together


def rows(text: str) -> list[list[str]]:
    """Cut a table at its bars and line breaks, and each row into words."""
    return [row.split() for row in re.split(r"[|\n]", text)]


def say(english: str, chinese: str, /, **parts: Phrase) -> Phrase:
    """Fill the gaps of two templates with the same parts."""
    return Phrase(
        english.format(**{name: part.english for name, part in parts.items()}),
        chinese.format(**{name: part.chinese for name, part in parts.items()}),
        pairs=frozenset().union(*(part.pairs for part in parts.values())),
    )


def tidy(text: str) -> str:
    """Leave one space where a gap stayed empty."""
    return " ".join(text.split())
