r"""Number chapters, figures, tables and formulas, and let the text refer to them by number.

A link `[章](encoder.md)` becomes 第 8 章, `[chapter](encoder.md)` chapter 8, and `[#](encoder.md)`
the number alone, where several are listed. A figure of a chapter is `fig-NAME`, after its file, a
table of a record `tab-RECORD-TABLE`, and a formula that says `\label{eq-NAME}` is `eq-NAME`. A link to one of them gains its number: `[图](#fig-heads)` becomes 图 5.1, and
`[Equation](multi-head.md#eq-heads)` becomes Equation (5.1).
"""

import re
from pathlib import Path

from literate import ROOT
from literate.blocks import FIGURE, HAN, RECORD, Block, ChapterError
from literate.chapter import Chapter, read


LABEL = re.compile(r"\s*\\label\{(eq-[\w-]+)\}")
CHAPTER = re.compile(r"\[(章|[Cc]hapter|#)\]\(([^)#\s]+\.md)(#[\w-]+)?\)")
REFERENCE = re.compile(r"\[([^][`]+)\]\(([^)#\s]*)#((?:fig|tab|eq)-[\w-]+)\)")


def anchor(block: Block) -> str:
    """The anchor of a figure, a table of a record or a labelled formula, or nothing."""
    if block.kind == "figure":
        return f"fig-{Path(FIGURE.findall(block.text)[0][1]).stem}"
    if table := RECORD.fullmatch(block.info):
        return f"tab-{table[1]}-{table[2]}"
    found = LABEL.search(block.text) if block.kind == "math" else None
    return found[1] if found else ""


def numbers(page: Chapter) -> dict[str, str]:
    """The number of each figure, table and labelled formula of a chapter, by its anchor.

    One in the annotated source, whose pages have no number, is counted within its page.
    """
    if not (page.is_chapter or page.is_source):
        return {}
    within = f"{page.number}." if page.is_chapter else ""
    given: dict[str, str] = {}
    counts = {"fig": 0, "tab": 0, "eq": 0}
    for block in page.blocks:
        if not (name := anchor(block)):
            continue
        if name in given:
            raise page.error(block, f"{name} is there already; give one of them another name")
        kind = name.partition("-")[0]
        counts[kind] += 1
        given[name] = f"{within}{counts[kind]}"
    return given


def refer(text: str, page: Chapter) -> str:
    """The text of a page, each link to what has a number with that number."""

    def leading_to(path: str, found: re.Match[str]) -> Chapter:
        target = (ROOT / page.path.parent / path).resolve()
        if path and not target.exists():
            raise lost(found, "leads to no page")
        return read(target.relative_to(ROOT)) if path else page

    def lost(found: re.Match[str], why: str) -> ChapterError:
        line = page.text[: max(page.text.find(found[0]), 0)].count("\n") + 1
        return ChapterError(page.path, line, f"{found[0]} {why}")

    def add(found: re.Match[str]) -> str:
        label, path, name = found.groups()
        number = numbers(leading_to(path, found)).get(name)
        if not number:
            raise lost(found, "leads to no figure, table or formula")
        shown = f"({number})" if name.startswith("eq") else number  # as it stands beside it
        gap = " " if HAN.match(text, found.end()) else ""  # as between any number and Chinese
        return f"[{label}\N{NO-BREAK SPACE}{shown}]({path}#{name}){gap}"

    def name_chapter(found: re.Match[str]) -> str:
        label, path, section = found.groups()
        number = leading_to(path, found).number
        if number < 0:
            raise lost(found, "leads to a page without number; name it by its title")
        shown = {"章": f"第 {number} 章", "#": f"{number}"}.get(label, f"{label} {number}")
        shown = shown.replace(" ", "\N{NO-BREAK SPACE}")
        gap = " " if label == "#" and HAN.match(text, found.end()) else ""
        return f"[{shown}]({path}{section or ''}){gap}"

    return REFERENCE.sub(add, CHAPTER.sub(name_chapter, text))


def tagged(formula: str, page: Chapter) -> str:
    """A formula with its number in place of its label."""
    return LABEL.sub(lambda found: rf" \tag{{{numbers(page)[found[1]]}}}", formula)
