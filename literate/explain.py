"""Link the terms of a page to the glossary, and say which chapters use each term."""

import os
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import groupby
from typing import NamedTuple

from literate import glossary, labs
from literate.blocks import LANGUAGES, Block, heading
from literate.chapter import Chapter, Twin
from literate.glossary import Term, Use


class Explained(NamedTuple):
    """The parts of a page, its terms linked; the tooltips; and the section of each first use."""

    parts: list[Block | Twin]
    tips: str = ""
    used: Mapping[Term, str] = {}


@lru_cache(maxsize=256)
def explain(page: Chapter, terms: tuple[Term, ...]) -> Explained:
    """Link the first use of each term in each section to the glossary."""
    parts = [*page.parts]
    explains = page.is_chapter or page.is_source or page.is_part
    if not terms or not (explains or page.path.parent == labs.LABS):
        return Explained(parts)
    section = ""
    prose: list[tuple[str, int, Twin]] = []
    for number, part in enumerate(parts):
        if isinstance(part, Block) and part.text.startswith(("# ", "## ")):
            section = heading(part)[2] if part.kind == "heading" else section
            if section == "references":
                break
        if isinstance(part, Twin) and part.zh.kind in ("paragraph", "list", "blockquote"):
            prose.append((section, number, part))
    sections = [list(group) for _, group in groupby(prose, lambda item: item[0])]
    place = os.path.relpath(glossary.GLOSSARY, page.path.parent)
    texts = ([[twin[i].text for _, _, twin in group] for group in sections] for i in (0, 1))
    (zh, in_zh), (en, in_en) = (
        glossary.link(text, language, terms, place)
        for text, language in zip(texts, LANGUAGES, strict=True)
    )
    for group, ours, theirs in zip(sections, zh, en, strict=True):
        for (_, number, twin), one, other in zip(group, ours, theirs, strict=True):
            parts[number] = Twin(replace(twin.zh, text=one), replace(twin.en, text=other))
    first = {
        term: sections[min(in_zh.get(term, len(prose)), in_en.get(term, len(prose)))][0][0]
        for term in [*in_zh, *in_en]
    }
    tips = glossary.tips(in_zh, "zh") + glossary.tips(in_en, "en")
    return Explained(parts, f"<div>\n{tips}</div>" if tips else "", first)


def uses(chapters: Sequence[Chapter], terms: tuple[Term, ...]) -> dict[Term, list[Use]]:
    """Where each chapter first uses each term."""
    found: defaultdict[Term, list[Use]] = defaultdict(list)
    for chapter in (chapter for chapter in chapters if chapter.is_chapter):
        place = chapter.path.relative_to("docs").as_posix()
        for term, section in explain(chapter, terms).used.items():
            found[term].append(Use(chapter.number, f"{place}#{section}"))
    return found
