"""The page that opens a part leads to each of its chapters, in their order.

So do the first pages of the annotated source and of the API.
"""

import re
from pathlib import Path

import pytest

from literate.chapter import ROOT, SOURCE, Twin, order, read, read_all
from literate.weave import units


NAV = (ROOT / "mkdocs.yml").read_text("utf-8")
SECTION = re.compile(r"  - (第.部[^:\n]*):\n +- (\S+)/index\.md")
PARTS = dict(SECTION.findall(NAV))


def test_every_part_has_a_page_that_opens_it() -> None:
    folders = {path.parent.name for path in order()} - {"docs"}
    assert {*PARTS.values()} == folders
    assert NAV.count("  - 第") == len(PARTS)


@pytest.mark.parametrize(("name", "part"), PARTS.items())
def test_its_list_leads_to_each_chapter(name: str, part: str) -> None:
    page = read(Path("docs") / part / "index.md")
    assert page.text.startswith(f"# {name} {{#part-{part}}}")
    chapters = [p.name for p in order() if p.parent == page.path.parent]
    (twin,) = (
        found
        for found in page.parts
        if isinstance(found, Twin) and found.zh.text.startswith("- [章](")
    )
    for block, label in ((twin.zh, "章"), (twin.en, "Chapter")):
        led = re.findall(rf"^- \[{label}\]\((\S+\.md)\)", block.text, re.M)
        assert led == chapters


def listed(path: Path, start: str) -> list[list[str]]:
    """The pages that a list or table of a page leads to first, in each language."""
    row = re.compile(rf"^{re.escape(start)}\[[^]]+\]\((\S+\.md)\)", re.M)
    twins = [part for part in read(path).parts if isinstance(part, Twin)]
    found = [[row.findall(half.text) for half in twin] for twin in twins]
    (both,) = (pages for pages in found if any(pages))
    return both


def test_the_source_lists_all_its_pages() -> None:
    files = sorted(path.name for path in (ROOT / SOURCE).glob("*.md"))
    files.remove("index.md")
    assert listed(SOURCE / "index.md", "- ") == [files, files]


def test_the_api_lists_every_unit_of_the_package() -> None:
    made = [f"{unit}.md" for unit in units(read_all())]
    assert listed(Path("docs/api/index.md"), "| ") == [made, made]
