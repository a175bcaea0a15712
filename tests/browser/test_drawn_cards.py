"""The sheet and the cards as Chromium draws them."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from PIL import Image
from playwright.sync_api import Browser, Page

from literate import cards, sheet
from literate.weave import EDITIONS


PALE = """() => axe.run({runOnly: ["color-contrast"]}).then(
  ({violations}) => violations.flatMap(v => v.nodes.map(n => n.html)))"""
SMALLEST = """() => Math.min(...[...document.querySelectorAll("h1, p, b, footer span, .mark")]
  .map(text => parseFloat(getComputedStyle(text).fontSize)))"""


@pytest.fixture
def page(chromium: Browser) -> Iterator[Page]:
    page = chromium.new_page(viewport=cards.CARD)
    yield page
    page.close()


def pale(page: Page) -> list[str]:
    page.evaluate(Axe().axe_script)
    return page.evaluate(PALE)


def test_all_is_drawn_and_fits(chromium: Browser, tmp_path: Path) -> None:
    cards.draw(chromium, tmp_path)
    for edition in EDITIONS:
        pdf = (tmp_path / f"attention-{edition}.pdf").read_bytes()
        assert len(re.findall(rb"/Type\s*/Page\b", pdf)) == 1
        width, height = re.findall(rb"/MediaBox \[0 0 ([\d.]+) ([\d.]+)", pdf)[
            0
        ]
        assert abs(float(width) - 420 / 25.4 * 72) < 1  # A3, in points
        assert abs(float(height) - 297 / 25.4 * 72) < 1
        with Image.open(tmp_path / f"attention-{edition}.png") as image:
            assert image.size == (3174, 2244)
        drawn = [*(tmp_path / f"myths-{edition}").iterdir()]
        assert {path.stem for path in drawn} == {*cards.ANSWERS}
        for path in drawn:
            with Image.open(path) as image:
                assert image.size == (1200, 630)


@pytest.mark.parametrize("edition", EDITIONS)
def test_it_can_be_read(page: Page, edition: str) -> None:
    for myth in cards.myths(edition):
        cards.lay_out(page, cards.myth_html(myth, edition), myth.name)
        assert page.evaluate(SMALLEST) >= 27  # 8 on a phone 360 wide
    assert pale(page) == []
    cards.lay_out(page, cards.sheet_html(edition), "sheet")
    assert pale(page) == []


def test_what_does_not_fit_is_refused(
    page: Page, monkeypatch: pytest.MonkeyPatch
) -> None:
    (myth, *_) = cards.myths("en")
    long = myth._replace(answer="Too long. " * 80)
    with pytest.raises(SystemExit, match=r"^long: no room for “Too long"):
        cards.lay_out(page, cards.myth_html(long, "en"), "long")
    wide = myth._replace(claim=sheet.inline(f"${'x + ' * 40}x$", "en"))
    with pytest.raises(SystemExit, match=r"^wide: no room for “"):
        cards.lay_out(page, cards.myth_html(wide, "en"), "wide")
    first, *rest = sheet.COLUMNS
    monkeypatch.setattr(sheet, "COLUMNS", (first + first.strip(), *rest))
    page.set_viewport_size(cards.SHEET)
    with pytest.raises(SystemExit, match=r"^sheet: no room for “"):
        cards.lay_out(page, cards.sheet_html("en"), "sheet")
