"""Attention on one page, and a card for each myth: what they say, and that chapters say it."""

import re
from dataclasses import replace
from pathlib import Path

import pytest
from bs4 import BeautifulSoup

from literate import cards, sheet
from literate.blocks import HAN, ChapterError, heading
from literate.chapter import ROOT, Chapter, read
from literate.references import refer
from literate.summary import LINK
from literate.weave import EDITIONS


MYTHS = Path("docs/trust/myths.md")
CELLS = [
    sheet.Cell(*re.split("[:;] ?", row))
    for column in sheet.COLUMNS
    for row in column.strip().split("\n")
]


def said(html: str) -> str:
    """The HTML as Markdown has it, with TeX for its formulas."""
    soup = BeautifulSoup(html, "html.parser")
    for formula in soup.select(".katex"):
        tex = formula.find("annotation")
        assert tex
        formula.replace_with(f"${tex.text}$")
    return plain(soup.text)


def plain(text: str) -> str:
    for curly, straight in zip("’\u00a0", "' ", strict=True):
        text = text.replace(curly, straight)
    return text.replace("`", "")


def written(page: Chapter) -> str:
    """The text of a page, links without their targets."""
    return plain(LINK.sub(r"\1", refer(page.text, page)))


@pytest.fixture(params=EDITIONS)
def edition(request: pytest.FixtureRequest) -> str:
    return request.param


def test_every_myth_has_a_claim_and_an_answer(edition: str) -> None:
    page = read(MYTHS)
    myths = cards.myths(edition)
    claims = re.findall(r"^### (“.*”) \| (“.*”) \{#", page.text, re.M)
    side = edition == "en"
    assert [said(myth.claim) for myth in myths] == [c[side] for c in claims]
    for myth in myths:
        answer = said(myth.answer)
        assert answer in written(page)
        assert answer.endswith("。" if edition == "zh" else ".")
        assert bool(HAN.search(answer)) == (edition == "zh")
        html = cards.myth_html(myth, edition)
        assert f"{page.number}" in html
        assert cards.ADDRESS in html


def test_every_cell_shows_what_its_chapter_has(edition: str) -> None:
    shown = [cell for column in sheet.cells(edition) for cell in column]
    for cell, found in zip(CELLS, shown, strict=True):
        name = cell.place.partition("#")[0]
        page = read(Path(f"docs/{name}.md"))
        assert page.is_chapter
        assert found["number"] == f"{page.number}"
        titles = [
            heading(block)[edition == "en"]
            for block in page.blocks
            if block.kind == "heading"
        ]
        assert said(found["title"]) in titles
        assert said(found["sentence"]) in written(page)
        pictures = re.findall(r"diagram-([a-z-]+)\"", found["shown"])
        anchors = [f"fig-{name}" for name in dict.fromkeys(pictures)]
        for _, anchor in re.findall(r"(\\label\{(eq-[a-z-]+)\})", page.text):
            if anchor in cell.anchors.split():
                anchors.append(anchor)
        assert anchors == cell.anchors.split()
        soup = BeautifulSoup(found["shown"], "html.parser")
        for formula in soup.select("annotation"):
            tex = re.sub(r"\\(?:begin|end)\{gathered\}", "", formula.text)
            for line in tex.split(r"\\"):
                assert line.strip() in page.text


def test_the_sheet_is_in_one_language() -> None:
    html = BeautifulSoup(cards.sheet_html("en"), "html.parser")
    names = {"汤姆", "追逐", "杰瑞"}  # of the example
    for text in html.stripped_strings:
        assert not HAN.search(text) or names & {*re.split("[ >]", text)}
    html = BeautifulSoup(cards.sheet_html("zh"), "html.parser")
    assert all(HAN.search(p.text) for p in html.select("p"))
    assert not html.select("a")


def test_chinese_breaks_between_words() -> None:
    broken = sheet.inline("因果掩码让词元看不到未来", "zh")
    assert broken.startswith("因果掩码<wbr>让<wbr>词元<wbr>看")
    assert sheet.inline("`q` & [a *b*](c.md) $d_k$", "en").startswith(
        "<code>q</code> &amp; a <em>b</em> <span"
    )


PAGE = Chapter(
    Path("docs/attention/a.md"),
    "# 甲 | A {#a}\n\n先有。要有 $x$ 的一句！再有。\n\n"
    "First. Want et al. (2017) of $x$. Then more.\n\n"
    "$$\nx \\label{eq-x}\n$$\n",
)


def test_a_sentence_ends_where_it_ends() -> None:
    says = "要有 | Want"
    found = [said(sheet.sentence(PAGE, says, edition)) for edition in EDITIONS]
    assert found == ["要有 $x$ 的一句！", "Want et al. (2017) of $x$."]
    more = sheet.sentence(PAGE, "先有 … 要有 | First … Then", "en")
    assert said(more) == "First. Want et al. (2017) of $x$. Then more."
    changed = replace(PAGE, text=PAGE.text.replace("Want", "Want now"))
    assert "Want now et al." in sheet.sentence(changed, says, "en")


@pytest.mark.parametrize(
    ("of", "fault"),
    [
        (lambda: sheet.show(PAGE, "eq-y", "zh"), "has no eq-y,"),
        (
            lambda: sheet.sentence(PAGE, "要有 | Lost", "zh"),
            "has no passage with “要有 | Lost”,",
        ),
    ],
)
def test_what_is_missing_is_named(of: object, fault: str) -> None:
    assert callable(of)
    with pytest.raises(ChapterError) as refused:
        of()
    message = str(refused.value)
    assert message.startswith(f"docs/attention/a.md:1: {fault}")
    assert "\n" not in message


def test_a_missing_section_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    row = "attention/scoring#nowhere: 掩码里 | In a mask; eq-attention"
    monkeypatch.setattr(sheet, "COLUMNS", (row,))
    with pytest.raises(ChapterError, match=r"scoring\.md:1: has no section #"):
        sheet.cells("en")


def test_a_new_myth_wants_an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = dict(cards.ANSWERS)
    monkeypatch.setattr(cards, "ANSWERS", answers)
    kept = answers.pop("rope")
    with pytest.raises(ChapterError, match=r"myths\.md:\d+: #rope has no"):
        cards.myths("zh")
    answers |= {"rope": kept, "gone": kept}
    with pytest.raises(ChapterError, match=r"myths\.md:1: has no myth #gone"):
        cards.myths("zh")


@pytest.mark.slow
def test_without_chromium_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHROMIUM", str(ROOT / "no/such/chromium"))
    with (
        pytest.raises(SystemExit, match=r"want a Chromium .* found none"),
        cards.chromium(),
    ):
        pass
