"""Each myth that the book owes its reader has an entry, and one that refutes."""

import json
import os
import re
from functools import cache
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F

from literate import ROOT
from literate.blocks import LANGUAGES, WORD, Block, heading
from literate.chapter import Chapter, Twin, defined_in, read, read_all


MYTHS = Path("docs/trust/myths.md")
# What the book has promised to put right, and the id of the entry that does.
# First the mistakes of the material that the book grew from.
OWED = {
    "the mask may be added after the softmax": "mask-after-softmax",
    "attention multiplies the input by parameters": "learnable-parameters",
    "self-dot-product attention": "self-dot-product",
    "rounded weights, and the output 2.1, 7.2, 1.8": "rounded-weights",
    "with 8 heads each does 125,000 scores": "eighth-of-scores",
    "the heads share their projection matrices": "shared-projections",
    "multi-head cuts the embedding into slices": "sliced-embedding",
    "one head sees too little of the sentence": "one-head-sees",
    "listings: heads not moved, no scale, late mask, join": "wrong-listings",
    "a listing with (pos/10000)^(d//2)": "wrong-positions",
    "path length 1 means no vanishing gradient": "path-length",
    "attention is smaller and cheaper": "smaller-and-cheaper",
    "LayerNorm normalises each batch": "layer-norm",
    "the Transformer is trained by masked modelling": "masked-training",
    "non-autoregressive decoding is steady": "nar-steadier",
    "a forward that prints and adds in place": "in-place",
    # Then those that were met while the book was written.
    "a boolean window mask saves time": "window-mask",
    "sparser weights are easier to interpret": "sparser-weights",
    "the delta rule stores more": "delta-rule",
    "an attention map proves use": "map-shows-use",
    "torch.compile always helps": "compile-always",
    "the opposite convention of nn.MultiheadAttention": "true-means",
    "no order without positional encoding": "no-order",
    "a Transformer costs the square": "square",
    "self-attention is permutation invariant": "permutation-invariant",
    "FlashAttention approximates, or computes less": "flash-approximates",
    "parallel, so it generates in parallel": "parallel-generation",
}
CLAIM = re.compile(r"“(.+)” \| \"(.+)\"")
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
    """Whether a block asserts something, or prints what is checked."""
    blocks = [part for part in parts if isinstance(part, Block)]
    tested = [b for b in blocks if b.info == "python" and "assert" in b.body]
    return bool(tested) or any(b.info == "output" for b in blocks)


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


@pytest.mark.parametrize("promise", OWED)
def test_what_is_owed_has_its_entry(promise: str) -> None:
    assert OWED[promise] in ENTRIES


def test_each_promise_has_an_entry_of_its_own() -> None:
    assert len({*OWED.values()}) == len(OWED) == 27


@pytest.mark.parametrize("name", ENTRIES)
def test_an_entry_is_refuted_by_a_block(name: str) -> None:
    """It stands here, or in a section of a chapter that the entry names."""
    entry = ENTRIES[name]
    linked = [section(chapter(page), at) for page, at in entry.links("en")]
    assert any(refutes(parts) for parts in [entry.parts, *linked])


@pytest.mark.parametrize("name", ENTRIES)
def test_an_entry_is_short_and_leads_to_a_chapter(name: str) -> None:
    entry = ENTRIES[name]
    assert entry.links("zh") == entry.links("en") != []
    assert 35 <= len(WORD.findall(entry.twins[0].en.text)) <= 110


def test_a_box_has_the_entry_that_leads_to_it() -> None:
    by_claim = {entry.claims: entry for entry in ENTRIES.values()}
    assert len(BOXES) >= 13
    for page, block, claims in BOXES:
        entry = by_claim.get(claims)
        assert entry, f"{page}: no entry of the myths says {claims[1]}"
        where = page, chapter(page).above(block)
        assert where in entry.links("en"), f"{entry.id} should link {where}"


def rows(anchor: str, language: str) -> list[str]:
    (twin,) = [
        part
        for part in section(chapter(MYTHS.name), anchor)
        if isinstance(part, Twin) and part.en.kind == "table"
    ]
    return getattr(twin, language).text.split("\n")[2:]


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_table_has_each_claim_once_and_in_order(language: str) -> None:
    """With what is true, and each chapter where the entry leads."""
    number = LANGUAGES.index(language)
    table = rows("table", language)
    assert len(table) == len(ENTRIES)
    for row, entry in zip(table, ENTRIES.values(), strict=True):
        claim, truth, where = row.strip("| ").split(" | ")
        quotes = ("“{}”", '"{}"')[number]
        quoted = quotes.format(entry.claims[number])
        assert claim == f"[{quoted}](#{entry.id})"
        assert truth
        first: dict[str, str] = {}
        for page, anchor in entry.links(language):
            if (page, anchor) != (MYTHS.name, "exercises"):
                first.setdefault(page, anchor)
        links = [
            f"[#]({page}#{first[page]})"
            for page in sorted(first, key=lambda page: chapter(page).number)
        ]
        assert where == ("、", ", ")[number].join(links)


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_index_has_what_each_chapter_refutes(language: str) -> None:
    """In few words, which are an entry's own; the table has the claims."""
    found = {}
    names: dict[str, set[str]] = {}
    for row in rows("index", language):
        page, labels = row.strip("| ").split(" | ")
        (name,) = re.findall(r"\]\(([\w/.-]+\.md)\)", page)
        assert page == f"[#]({name})"
        pairs = re.findall(r"\[([^]]+)\]\(#([\w-]+)\)", labels)
        for label, anchor in pairs:
            names.setdefault(anchor, set()).add(label)
        found[name] = [anchor for _, anchor in pairs]
    numbers = [chapter(name).number for name in found]
    assert numbers == sorted(numbers)
    wanted: dict[str, list[str]] = {}
    for entry in ENTRIES.values():
        pages = {page for page, _ in entry.links(language)} - {MYTHS.name}
        for page in pages:
            wanted.setdefault(page, []).append(entry.id)
    assert found == wanted
    assert all(len(labels) == 1 for labels in names.values())
    assert len(set.union(*names.values())) == len(ENTRIES)


@pytest.mark.parametrize(("n", "w"), [(3, 1), (6, 2), (10, 5), (7, 7)])
def test_blocks_give_what_a_window_mask_gives(n: int, w: int) -> None:
    cells = defined_in(MYTHS.as_posix(), "window_in_blocks")
    query, key, value = torch.randn(3, n, 11)
    mask = torch.ones(n, n, dtype=torch.bool).tril().triu(1 - w)
    output = cells["window_in_blocks"](query, key, value, w)
    expected = F.scaled_dot_product_attention(query, key, value, mask)
    torch.testing.assert_close(output, expected)


def test_the_rules_write_what_the_text_says() -> None:
    """With orthogonal keys nothing interferes; written twice, delta is right."""
    rules = defined_in(MYTHS.as_posix(), "torch", "rules")["rules"]
    additive, decay, delta, gentle = rules.values()
    key, other = torch.eye(3)[:2]
    old, new = torch.tensor([1.0, 2.0]), torch.tensor([5.0, 7.0])
    for rule, first, second in (
        (additive, 1.0, 1.0),
        (decay, 0.95, 1.0),
        (delta, 0.0, 1.0),
        (gentle, 0.2 * 0.8, 0.2),
    ):
        state = rule(rule(torch.zeros(2, 3), key, old), key, new)
        torch.testing.assert_close(state @ key, first * old + second * new)
        assert (state @ other == 0).all()


def test_a_model_that_prints_is_no_single_graph() -> None:
    def prints(x: torch.Tensor) -> torch.Tensor:
        print("shape", x.shape)  # noqa: T201
        return x + 1

    compiled = torch.compile(prints, fullgraph=True, backend="eager")
    with pytest.raises(torch._dynamo.exc.Unsupported, match="print"):
        compiled(torch.ones(2))


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_times_are_those_of_the_record(language: str) -> None:
    record = json.loads(
        (ROOT / "benchmarks/results/myths-cpu.json").read_text()
    )
    machine = ("AMD EPYC", 1)
    assert (record["cpu"], record["threads"]) == machine
    quoted = {
        "testing": [*record["windows"].values()][1:],
        "compile-always": [record["compiled"]["products"]],
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
