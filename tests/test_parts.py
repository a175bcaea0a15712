"""The page that opens a part leads to each of its chapters, in their order."""

import re
from pathlib import Path

import pytest

from literate.chapter import ROOT, Twin, order, read


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
