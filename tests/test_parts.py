"""The page that opens a part leads to each of its chapters, in their order."""

import re
from pathlib import Path

import pytest

from literate.chapter import ROOT, Twin, read


NAV = (ROOT / "mkdocs.yml").read_text("utf-8")
PART = re.compile(r"- (parts/\S+)\n((?: +- chapters/\S+\n)+)")
SECTION = re.compile(r"  - (第.部[^:\n]*):\n +- (\S+)")
PARTS = dict(PART.findall(NAV))


def test_every_page_of_a_part_opens_its_part() -> None:
    there = {p.name for p in (ROOT / "docs/parts").glob("*.md")}
    assert {Path(page).name for page in PARTS} == there != set()


@pytest.mark.parametrize(("name", "first"), SECTION.findall(NAV))
def test_a_part_and_its_page_have_one_name(name: str, first: str) -> None:
    if first in PARTS:
        page = read(Path("docs") / first)
        assert page.text.startswith(f"# {name} {{#")


@pytest.mark.parametrize("page", PARTS)
def test_its_list_leads_to_each_chapter(page: str) -> None:
    chapters = re.findall(r"chapters/\S+", PARTS[page])
    lists = [
        part
        for part in read(Path("docs") / page).parts
        if isinstance(part, Twin) and "](../chapters/" in part.zh.text
        if part.zh.kind == "list"
    ]
    (twin,) = lists
    for block in (twin.zh, twin.en):
        assert re.findall(r"\]\(\.\./(\S+\.md)\)", block.text) == chapters
        numbers = re.findall(r"\[(?:第 |Chapter )(\d+)", block.text)
        assert numbers == [str(int(chapter[9:11])) for chapter in chapters]
