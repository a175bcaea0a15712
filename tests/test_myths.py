"""Each myth has an entry, a block that refutes it, and a line in the table."""

import json
import os
import re
from functools import cache
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F

from literate import ROOT
from literate.blocks import LANGUAGES, Block, heading
from literate.chapter import Chapter, Twin, defined_in, read, read_all


MYTHS = Path("docs/trust/myths.md")
CLAIM = re.compile(r"“(.+)” \| “(.+)”")
BOX = re.compile(r'/// warning \| 误区：“(.+?)。?” \| Myth: "(.+?)\.?"')
LINK = re.compile(r"\]\(([\w/.-]+\.md)?#(?!fig-|eq-)([\w-]+)\)")


@cache
def chapter(name: str) -> Chapter:
    """The page that a link of the myths leads to."""
    return read(Path(os.path.normpath(MYTHS.parent / name)))


def place(page: Chapter) -> str:
    """How the myths link to a page."""
    return os.path.relpath(page.path, MYTHS.parent)


def level(block: Block) -> int:
    return len(block.text) - len(block.text.lstrip("#"))


def section(page: Chapter, anchor: str) -> list[Block | Twin]:
    """All that stands under a heading, up to the next one of its level."""
    found: list[Block | Twin] = []
    inside = 0
    for part in page.parts:
        if isinstance(part, Block) and part.kind == "heading":
            if inside and level(part) <= inside:
                break
            if heading(part)[2] == anchor:
                inside = level(part)
                continue
        if inside:
            found.append(part)
    assert inside, f"{page.path.name} has no #{anchor}"
    return found


def refutes(parts: list[Block | Twin]) -> bool:
    """Whether a block asserts something, or shows what is checked."""
    blocks = [part for part in parts if isinstance(part, Block)]
    tested = [b for b in blocks if b.info == "python" and "assert" in b.body]
    shown = any(b.info.split(" ")[0] in ("output", "record") for b in blocks)
    return bool(tested) or shown


class Entry:
    """A claim in both languages, and what stands under it."""

    def __init__(self, block: Block) -> None:
        self.id = heading(block)[2]
        found = CLAIM.search(block.text)
        assert found, f"a claim stands in quotes, got {block.text}"
        self.claims = found.groups()
        self.parts = section(chapter(MYTHS.name), self.id)
        self.twins = [part for part in self.parts if isinstance(part, Twin)]

    def text(self, language: str) -> str:
        return "\n".join(getattr(twin, language).text for twin in self.twins)

    def links(self, language: str) -> list[tuple[str, str]]:
        found = LINK.findall(self.text(language))
        return [(name or MYTHS.name, anchor) for name, anchor in found]


def entries() -> list[Entry]:
    blocks = chapter(MYTHS.name).blocks
    return [Entry(b) for b in blocks if b.kind == "heading" and level(b) == 3]


ENTRIES = {entry.id: entry for entry in entries()}
BOXES = [
    (place(page), block, found.groups())
    for page in read_all()
    for block in page.blocks
    if (found := BOX.match(block.text))
]


@pytest.mark.parametrize("name", ENTRIES)
def test_an_entry_is_refuted_by_a_block(name: str) -> None:
    """It stands here, or in a section of a chapter that the entry names."""
    entry = ENTRIES[name]
    assert set(entry.links("zh")) == set(entry.links("en")) != set()
    linked = [section(chapter(page), at) for page, at in entry.links("en")]
    assert any(refutes(parts) for parts in [entry.parts, *linked])


def rows(language: str) -> list[list[str]]:
    """The questions without a source: question, answer, and where it is shown."""
    (twin,) = [
        part
        for part in section(chapter(MYTHS.name), "table")
        if isinstance(part, Twin) and part.en.kind == "table"
    ]
    lines = getattr(twin, language).text.split("\n")[2:]
    return [line.strip("| ").split(" | ") for line in lines]


def test_a_question_is_answered_where_its_row_leads() -> None:
    for zh, en in zip(rows("zh"), rows("en"), strict=True):
        links = LINK.findall(en[2])
        assert LINK.findall(zh[2]) == links != []
        shown = [section(chapter(page), at) for page, at in links]
        assert any(refutes(parts) for parts in shown), en[0]
        assert en[0].endswith("?")
        assert zh[0].endswith("？")


def test_a_box_has_an_entry_or_a_row_that_leads_to_it() -> None:
    linked = {link for entry in ENTRIES.values() for link in entry.links("en")}
    linked |= {link for row in rows("en") for link in LINK.findall(row[2])}
    assert len(BOXES) >= 8
    for page, block, claims in BOXES:
        where = page, chapter(page).above(block)
        assert where in linked, f"nothing leads to {claims[1]} in {where}"


@pytest.mark.parametrize(("n", "w"), [(3, 1), (6, 2), (10, 5), (7, 7)])
def test_blocks_give_what_a_window_mask_gives(n: int, w: int) -> None:
    cells = defined_in(MYTHS.as_posix(), "window_in_blocks")
    query, key, value = torch.randn(3, n, 11)
    mask = torch.ones(n, n, dtype=torch.bool).tril().triu(1 - w)
    output = cells["window_in_blocks"](query, key, value, w)
    expected = F.scaled_dot_product_attention(query, key, value, mask)
    torch.testing.assert_close(output, expected)


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_times_are_those_of_the_record(language: str) -> None:
    record = json.loads(
        (ROOT / "benchmarks/results/myths-cpu.json").read_text()
    )
    machine = ("AMD EPYC", 1)
    assert (record["cpu"], record["threads"]) == machine
    quoted = {
        "testing": [*record["windows"].values()][1:],
    }
    for anchor, numbers in quoted.items():
        paragraphs = [
            getattr(part, language).text
            for part in section(chapter(MYTHS.name), anchor)
            if isinstance(part, Twin)
        ]
        (text,) = [p for p in paragraphs if "benchmarks.myths" in p]
        assert machine[0] in text
        found = sorted(re.findall(r"\d\.\d\d\b", text))
        assert found == sorted(f"{x:.2f}" for x in numbers)
