r"""Number figures and formulas, and let the text refer to them by number.

A figure of a chapter is `fig-NAME`, after its file. A formula that says `\label{eq-NAME}` is
`eq-NAME`. A link to one of them gains its number: `[图](#fig-heads)` becomes 图 5.1, and
`[Equation](multi-head.md#eq-heads)` becomes Equation (5.1).
"""

import re
from pathlib import Path

from literate import ROOT
from literate.blocks import FIGURE, HAN, Block, ChapterError
from literate.chapter import CHAPTERS, Chapter, read


LABEL = re.compile(r"\s*\\label\{(eq-[\w-]+)\}")
REFERENCE = re.compile(r"\[([^][`]+)\]\(([^)#\s]*)#((?:fig|eq)-[\w-]+)\)")


def anchor(block: Block) -> str:
    """The anchor of a figure or of a labelled formula, or nothing."""
    if block.kind == "figure":
        return f"fig-{Path(FIGURE.findall(block.text)[0][1]).stem}"
    found = LABEL.search(block.text) if block.kind == "math" else None
    return found[1] if found else ""


def numbers(page: Chapter) -> dict[str, str]:
    """The number of each figure and labelled formula of a chapter, by its anchor."""
    if page.path.parent != CHAPTERS:
        return {}
    given: dict[str, str] = {}
    counts = {"fig": 0, "eq": 0}
    for block in page.blocks:
        if not (name := anchor(block)):
            continue
        if name in given:
            raise page.error(block, f"{name} is there already; give one of them another name")
        kind = name.partition("-")[0]
        counts[kind] += 1
        given[name] = f"{page.number}.{counts[kind]}"
    return given


def refer(text: str, page: Chapter) -> str:
    """The text of a page, each link to a figure or formula with its number."""

    def add(found: re.Match[str]) -> str:
        label, path, name = found.groups()
        other = page
        if path:
            target = (ROOT / page.path.parent / path).resolve()
            other = read(target.relative_to(ROOT)) if target.exists() else page
        number = numbers(other).get(name)
        if not number:
            line = page.text[: max(page.text.find(found[0]), 0)].count("\n") + 1
            raise ChapterError(page.path, line, f"{found[0]} leads to no figure or formula")
        shown = f"({number})" if name.startswith("eq") else number  # as it stands beside it
        gap = " " if HAN.match(text, found.end()) else ""  # as between any number and Chinese
        return f"[{label}\N{NO-BREAK SPACE}{shown}]({path}#{name}){gap}"

    return REFERENCE.sub(add, text)


def tagged(formula: str, page: Chapter) -> str:
    """A formula with its number in place of its label."""
    return LABEL.sub(lambda found: rf" \tag{{{numbers(page)[found[1]]}}}", formula)
