"""The glossary: the terms of both languages, and what not to call them."""

from pathlib import Path
from typing import NamedTuple

from literate.blocks import Block, ChapterError
from literate.chapter import ROOT, read


GLOSSARY = Path("docs/glossary.md")


class Term(NamedTuple):
    """A row of the table."""

    english: str
    chinese: str
    forbidden: list[str]


def parse(block: Block) -> list[Term]:
    """The rows of a `glossary` block: `English | 中文 | 不用`, with – for none."""
    terms = []
    for number, line in enumerate(block.body.splitlines(), block.line + 1):
        cells = line.split(" | ")
        if len(cells) != 3:
            raise ChapterError(
                GLOSSARY, number, "a row is `English | 中文 | 不用`, with – for none"
            )
        english, chinese, forbidden = cells
        terms.append(Term(english, chinese, [] if forbidden == "–" else forbidden.split("、")))
    return terms


def glossary(root: Path = ROOT) -> list[Term]:
    """The terms of the book."""
    return parse(next(b for b in read(GLOSSARY, root).blocks if b.info == "glossary"))
