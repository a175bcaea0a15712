"""Weave a chapter into the Markdown of one edition.

Both languages are on the page, so that a button can lay them side by side; the
other language's half is marked `twin`, hidden by the style sheet, and left out of
the search.
"""

import ast
import re
from collections.abc import Iterator
from html import escape

from literate.blocks import FIGURE, Block, heading, pick
from literate.chapter import Chapter, Twin, dotted


HIDDEN = 'class="twin" data-search-exclude="true"'
# Where a line break between two of these would show as a space.
WIDE = r"[　-〿㐀-鿿豈-﫿＀-￯“”‘’…—]"


def weave(chapter: Chapter, edition: str) -> str:
    """The chapter as Material for MkDocs reads it, for edition `zh` or `en`."""
    parts = [
        _twins(part.zh.text, part.en.text, edition)
        if isinstance(part, Twin)
        else _shared(chapter, part, edition)
        for part in chapter.parts
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def join_lines(text: str) -> str:
    """Join lines broken between wide characters, which need no space."""
    return re.sub(rf"(?<={WIDE})\n(?={WIDE})", "", text)


def headings(chapter: Chapter) -> Iterator[tuple[Block, str]]:
    """Each block with a title in it and the id of the heading above it."""
    above = ""
    for block in chapter.blocks:
        if block.kind == "heading":
            above = heading(block)[2]
        elif block.title:
            yield block, above


def _twins(zh: str, en: str, edition: str) -> str:
    halves = [("zh", join_lines(zh)), ("en", en)]
    if edition == "en":
        halves.reverse()
    sections = [
        f'<section lang="{lang}" markdown="block"{"" if lang == edition else " " + HIDDEN}>\n\n{text}\n\n</section>'
        for lang, text in halves
    ]
    return '<div class="twins" markdown="block">\n' + "\n".join(sections) + "\n</div>"


def _short(zh: str, en: str, edition: str) -> str:
    """Both sides of a short string, in line, the other language hidden."""
    if zh == en:
        return zh
    ours, theirs, lang = (zh, en, "en") if edition == "zh" else (en, zh, "zh")
    return f'{ours}<small lang="{lang}" {HIDDEN}>{theirs}</small>'


def _shared(chapter: Chapter, block: Block, edition: str) -> str:
    if block.kind == "heading":
        zh, en, id_ = heading(block)
        label = escape(re.sub(r"[`*]", "", zh if edition == "zh" else en))
        marks = block.text.partition(" ")[0]
        shown = _short(zh, en, edition)
        return f'{marks} {shown} {{#{id_} data-toc-label="{label}"}}'
    if block.kind == "open":
        head, _, text = block.text.partition(" | ")
        return f"{head} | {_short(pick(text, 'zh'), pick(text, 'en'), edition)}"
    if block.kind == "meta":
        return ""  # MkDocs has read it
    if block.kind == "figure":
        return _figure(block, edition)
    if block.info == "output":
        fence = block.text.partition("output")[0].strip()
        return f"{fence} {{.text .output .no-copy}}\n{block.body}{fence}"
    if block.info == "glossary":
        return _glossary(block, edition)
    if block.title and block.info.startswith("python"):
        module = dotted(block.title)
        # A constant has no docstring, and so no place on the API page.
        documented = (ast.ClassDef, ast.FunctionDef)
        defined = [n.name for n in ast.parse(block.body).body if isinstance(n, documented)]
        public = [name for name in defined if not name.startswith("_")]
        links = " ".join(f"[`{name}`][{module}.{name}]" for name in public)
        return block.text + (f'\n\n<p class="api" markdown="span">API {links}</p>' if links else "")
    return block.text


def _figure(block: Block, edition: str) -> str:
    alternative, path, caption = FIGURE.findall(block.text)[0]
    image = f"![{pick(alternative, edition)}]({path})"
    shown = _short(pick(caption, "zh"), pick(caption, "en"), edition)
    return (
        f'<figure markdown="span">\n{image}\n'
        f'<figcaption markdown="span">{shown}</figcaption>\n</figure>'
    )


def _glossary(block: Block, edition: str) -> str:
    rows = [line.split(" | ") for line in block.body.splitlines()]
    heads = ("中文", "英文", "不用") if edition == "zh" else ("Chinese", "English", "not")
    table = ["| " + " | ".join(heads) + " |", "|---|---|---|"]
    table += [f"| {zh} | {en} | {no} |" for en, zh, no in rows]
    return "\n".join(table)
