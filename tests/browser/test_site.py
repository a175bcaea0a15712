"""Walk both editions in a real browser, as a reader would.

Every test also fails on a console message, a missing file, or a request to any
other host: the `visit` fixture sees to that.
"""

import re
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from literate.chapter import ROOT
from literate.glossary import terms
from tests.browser.conftest import WIDE, Visitor


PAGES = sorted(
    path.parent.relative_to(ROOT / "site").as_posix()
    for edition in ("zh", "en")
    for path in (ROOT / "site" / edition).glob("**/index.html")
)
PHONE = {"viewport": {"width": 390, "height": 844}, "is_mobile": True}
SCORING = "chapters/02-scoring/"
FUSED = "chapters/42-fused-attention/"
STRAY_STOPS = """() => [...document.querySelectorAll(".arithmatex")]
  .filter(formula => formula.offsetParent && formula.offsetWidth <= 200)
  .filter(formula => {
    const text = formula.nextSibling, stop = document.createRange();
    if (!/^[，。；：？！、）]/.test(text?.data ?? "")) return false;
    stop.setStart(text, 0), stop.setEnd(text, 1);
    const lines = formula.getClientRects();
    const top = stop.getBoundingClientRect().top;
    return top > lines[lines.length - 1].bottom - 2;
  }).map(formula => formula.textContent)"""


NARROW = {"width": 390, "height": 844}
NARROWEST = {"width": 360, "height": 780}
DIAGRAMS = Path(__file__).with_name("diagrams.js").read_text("utf-8")
# What axe need look at again when only colours, or only sizes, have changed.
COLOURS = ["color-contrast", "link-in-text-block"]
SIZES = ["scrollable-region-focusable", "target-size"]
OTHERS = {"rules": {rule: {"enabled": False} for rule in (*COLOURS, "region")}}
READY = """() => document.fonts.status === "loaded"
  && [...document.images].every(image => image.complete)
  && !document.querySelector(".arithmatex:not(:has(.katex))")"""
# The theme lets code that is too wide be scrolled by keys, a moment later.
CODE_IS_REACHED = """() => [...document.querySelectorAll("pre > code")]
  .filter(code => code.checkVisibility())
  .every(code => code.scrollWidth <= code.clientWidth || code.tabIndex >= 0)"""
# Code and formulas are thousands of parts, of few kinds.
CODE = ".highlight code span:not(:has(*))"
FORMULAS = ".katex"
ALIKE = Path(__file__).with_name("alike.js").read_text("utf-8")
AXE = """([within, options]) => axe.run(within ?? document, options).then(
  ({violations}) => violations
    .filter(v => v.impact === "serious" || v.impact === "critical")
    .map(v => `${v.id}: ${v.help}: ${v.nodes.slice(0, 3).map(n => n.html)}`))"""


def violations(
    page: Page, options: dict[str, object], within: object = None
) -> list[str]:
    """What axe finds that is serious or critical."""
    if not page.evaluate("'axe' in window"):
        page.evaluate(Axe().axe_script)
    options = {"resultTypes": ["violations"], "selectors": False} | options
    return page.evaluate(AXE, [within, options])


def pale(page: Page) -> list[str]:
    """What is hard to read, one of each kind of text."""
    alike = page.evaluate_handle(f"({ALIKE})()")
    return violations(page, {"runOnly": COLOURS}, {"include": alike})


def fits(page: Page) -> None:
    """Nothing sticks out to the right, and no stop begins a line."""
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert page.evaluate(STRAY_STOPS) == []


@pytest.mark.parametrize("path", PAGES)
def test_every_page_is_sound(tour: Visitor, path: str) -> None:
    """Wide, narrow and dark, in one visit."""
    page = tour.open(f"/{path}/")
    page.wait_for_function(READY)
    assert page.locator(".katex-error").count() == 0
    assert page.evaluate(
        "[...document.images].every(i => i.complete && i.naturalWidth > 0)"
    )
    fits(page)
    page.set_viewport_size(NARROW)
    fits(page)
    page.wait_for_function(CODE_IS_REACHED)
    page.evaluate(ALIKE, CODE)
    assert violations(page, {"runOnly": SIZES}) == []
    edition = path[:2]
    if page.locator("svg.diagram").count():
        page.set_viewport_size(NARROWEST)
        fits(page)
        assert page.evaluate(DIAGRAMS, edition) == []
    page.set_viewport_size(WIDE)
    assert page.evaluate(DIAGRAMS, edition) == []
    page.evaluate(ALIKE, FORMULAS)
    assert violations(page, OTHERS) == []
    assert pale(page) == []
    page.add_style_tag(content="* { transition: none !important }")
    page.evaluate("document.body.dataset.mdColorScheme = 'slate'")
    assert page.evaluate(DIAGRAMS, edition) == []
    assert pale(page) == []


@pytest.mark.parametrize(
    ("options", "lands"),
    [
        ({"locale": "zh-CN"}, "zh"),
        ({"locale": "en-GB"}, "en"),
        ({"locale": "fr-FR"}, "en"),
    ],
)
def test_the_root_picks_the_readers_language(
    visit: Visitor, options: dict[str, object], lands: str
) -> None:
    page = visit.open("/")
    page.wait_for_url(f"**/{lands}/")
    expect(page.locator("html")).to_have_attribute("lang", lands)


def test_the_root_remembers_the_choice(visit: Visitor) -> None:
    page = visit.open("/zh/")
    page.locator("#edition").click()
    page.wait_for_url("**/en/")
    visit.open("/")
    page.wait_for_url("**/en/")


@pytest.mark.parametrize("start", ["zh", "en"])
def test_the_switch_stays_on_the_chapter(visit: Visitor, start: str) -> None:
    other = {"zh": "en", "en": "zh"}[start]
    page = visit.open(f"/{start}/{SCORING}")
    page.locator("#edition").click()
    page.wait_for_url(f"**/{other}/{SCORING}")

    page.locator("#additive").scroll_into_view_if_needed()
    page.evaluate("document.getElementById('additive').scrollIntoView()")
    page.locator("#edition").click()
    page.wait_for_url(f"**/{start}/{SCORING}#additive")


@pytest.mark.parametrize("edition", ["zh", "en"])
def test_one_language_until_both_are_asked_for(
    visit: Visitor, edition: str
) -> None:
    page = visit.open(f"/{edition}/{SCORING}")
    ours = page.locator(".twins section:not(.twin)").first
    theirs = page.locator(".twins section.twin").first
    expect(ours).to_be_visible()
    expect(ours).to_have_attribute("lang", edition)
    expect(theirs).to_be_hidden()

    button = page.locator("#twins")
    button.click()
    expect(theirs).to_be_visible()
    expect(button).to_have_attribute("aria-pressed", "true")
    left = ours.bounding_box()
    right = theirs.bounding_box()
    assert left is not None
    assert right is not None
    assert abs(left["y"] - right["y"]) < 2  # side by side
    assert left["x"] + left["width"] <= right["x"]

    page.reload()
    expect(theirs).to_be_visible()  # remembered
    button.click()
    expect(theirs).to_be_hidden()


@pytest.mark.parametrize("options", [PHONE])
def test_on_a_phone_the_twins_are_stacked(
    visit: Visitor, options: dict[str, object]
) -> None:
    page = visit.open(f"/zh/{SCORING}")
    page.locator("#twins").click()
    ours = page.locator(".twins section:not(.twin)").first.bounding_box()
    theirs = page.locator(".twins section.twin").first.bounding_box()
    assert ours is not None
    assert theirs is not None
    assert ours["y"] + ours["height"] <= theirs["y"] + 1


def search(page: Page, words: str) -> list[str]:
    page.locator(".md-search__input").click()
    page.locator(".md-search__input").fill(words)
    results = page.locator(".md-search-result__item a")
    expect(results.first).to_be_visible()
    expect(page.locator(".md-search-result__meta")).to_have_text(
        re.compile(r"\d")
    )
    return [link.get_attribute("href") or "" for link in results.all()]


@pytest.mark.parametrize(
    ("edition", "words"),
    [
        ("zh", "因果掩码"),
        ("zh", "加权和"),
        ("zh", "causal_mask"),
        ("en", "causal mask"),
        ("en", "additive"),
    ],
)
def test_search_finds_the_chapter(
    visit: Visitor, edition: str, words: str
) -> None:
    page = visit.open(f"/{edition}/")
    found = search(page, words)
    assert any(f"/{edition}/{SCORING}" in link for link in found), found


def test_search_keeps_to_its_edition(visit: Visitor) -> None:
    page = visit.open("/en/")
    page.locator(".md-search__input").click()
    page.locator(".md-search__input").fill("因果掩码")
    page.wait_for_timeout(1000)
    links = page.locator(".md-search-result__item a")
    found = [link.get_attribute("href") or "" for link in links.all()]
    assert not any(f"/en/{SCORING}" in link for link in found), found


def test_copy_takes_the_code(visit: Visitor) -> None:
    page = visit.open(f"/en/{SCORING}")
    block = page.locator(".highlight").first
    block.hover()
    block.locator("button").click()
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied.startswith('import math\n\nwords = ["Tom",')
    assert page.locator(".output button").count() == 0


def test_dark_mode_can_be_switched_and_is_remembered(visit: Visitor) -> None:
    page = visit.open(f"/zh/{SCORING}")
    body = page.locator("body")
    expect(body).to_have_attribute("data-md-color-scheme", "default")
    page.locator("label[title=换成深色]").click()
    expect(body).to_have_attribute("data-md-color-scheme", "slate")
    page.reload()
    expect(body).to_have_attribute("data-md-color-scheme", "slate")


@pytest.mark.parametrize("edition", ["zh", "en"])
def test_package_and_chapter_link_both_ways(
    visit: Visitor, edition: str
) -> None:
    page = visit.open(f"/{edition}/{FUSED}")
    page.locator(".api a", has_text="fused_attention").click()
    page.wait_for_url("**/api/scoring/#attention_book.scoring.fused_attention")
    entry = page.locator(".doc-object:has(h2:has-text('fused_attention'))")
    entry.locator(f"+ p a[href*='{FUSED}']").click()
    page.wait_for_url(f"**/{edition}/{FUSED}#fused")


@pytest.mark.parametrize("edition", ["zh", "en"])
def test_a_notebook_is_offered(visit: Visitor, edition: str) -> None:
    page = visit.open(f"/{edition}/{SCORING}")
    with page.expect_download() as download:
        page.locator(".notebook a").click()
    assert download.value.suggested_filename == "02-scoring.ipynb"


def test_long_docstrings_are_folded_and_copied_whole(visit: Visitor) -> None:
    page = visit.open(f"/en/{FUSED}")
    block = page.locator(".highlight:has(.fold)").first
    rest = block.locator(".folded").first
    expect(rest).to_be_hidden()
    block.hover()
    block.locator("nav button, .md-clipboard, .md-code__button").first.click()
    assert "Returns:" in page.evaluate("navigator.clipboard.readText()")
    block.locator(".fold").first.click()
    expect(rest).to_be_visible()


def test_folded_answers_open(visit: Visitor) -> None:
    page = visit.open(f"/en/{SCORING}")
    answer = page.locator("details:has-text('Answer')").first
    expect(answer.locator("p").first).to_be_hidden()
    answer.locator("summary").click()
    expect(answer.locator("p").first).to_be_visible()


@pytest.mark.parametrize("edition", ["zh", "en"])
def test_the_glossary_has_every_term(tour: Visitor, edition: str) -> None:
    page = tour.open(f"/{edition}/glossary/")
    found = page.evaluate("""() => Object.fromEntries(
      [...document.querySelectorAll("h3[id]")].map(title => [title.id, [
        title.childNodes[0].data.trim(),
        title.querySelector("small")?.textContent ?? ""]]))""")
    for term in terms():
        names = term.zh, term.en
        ours, theirs = names if edition == "zh" else names[::-1]
        assert found[term.id] == [ours, "" if ours == theirs else theirs]


INSIDE = """tip => {
  const box = tip.getBoundingClientRect();
  const seen = document.elementFromPoint(
    (box.left + box.right) / 2, (box.top + box.bottom) / 2);
  return seen === tip && box.left >= 0 && box.right <= innerWidth
    && box.top >= 0 && box.bottom <= innerHeight;
}"""


@pytest.mark.parametrize("edition", ["zh", "en"])
def test_a_term_says_what_it_means(tour: Visitor, edition: str) -> None:
    """To the mouse and to the keyboard, wide and narrow, light and dark."""
    page = tour.open(f"/{edition}/chapters/03-by-hand/")
    ids = page.evaluate(
        "[...document.querySelectorAll('[id]')].map(e => e.id)"
    )
    assert len(ids) == len(set(ids))
    assert page.locator(".tip:visible").count() == 0
    for language in ("zh", "en"):
        page.evaluate("document.documentElement.classList.add('both')")
        term = page.locator(f"section[lang={language}] a[href$='#query']")
        tip = page.locator(f"#tip-query-{language}")
        means = next(t.means(language) for t in terms() if t.id == "query")
        term.hover()
        expect(tip).to_be_visible()
        expect(tip).to_have_text(means)
        expect(term).to_have_accessible_description(means)
        assert tip.evaluate(INSIDE)
        tip.hover()  # it stays, and can be selected
        page.wait_for_timeout(400)
        expect(tip).to_be_visible()
        page.keyboard.press("Escape")
        expect(tip).to_be_hidden()
    page.mouse.move(0, 0)
    page.evaluate("document.documentElement.classList.remove('both')")

    shown = page.locator("section:not(.twin) a.term")
    for size in (WIDE, NARROW):
        page.set_viewport_size(size)
        for n in range(0, shown.count(), 3):
            shown.nth(n).focus()
            page.keyboard.press("Shift+Tab")
            page.keyboard.press("Tab")
            tips = page.locator(".tip:visible")
            expect(tips).to_have_count(1)
            assert tips.evaluate(INSIDE)
    for scheme in ("default", "slate"):
        page.evaluate(f"document.body.dataset.mdColorScheme = '{scheme}'")
        assert (
            violations(page, {"runOnly": COLOURS}, ".tip:popover-open") == []
        )
    page.set_viewport_size(WIDE)


@pytest.mark.parametrize("options", [PHONE | {"has_touch": True}])
def test_on_a_phone_a_tap_explains_and_a_second_one_leads_on(
    visit: Visitor, options: dict[str, object]
) -> None:
    page = visit.open(f"/en/{SCORING}")
    term = page.locator("section:not(.twin) a.term").nth(2)
    href = term.get_attribute("href") or ""
    term.tap()
    expect(page.locator(".tip:visible")).to_have_count(1)
    page.locator("h1").tap()
    expect(page.locator(".tip:visible")).to_have_count(0)
    term.tap()
    assert "glossary" not in page.url
    term.tap()
    page.wait_for_url(f"**/en/{href.removeprefix('../../')}")


@pytest.mark.parametrize("path", ["/nothing", "/en/nothing/at/all"])
def test_what_is_not_there_says_so(visit: Visitor, path: str) -> None:
    page = visit.open(path)
    expect(page.get_by_text("There is no such page.")).to_be_visible()
    assert len(visit.faults) == 2  # the page itself, and the console's word
    visit.faults.clear()
    page.locator("a[lang=en]").click()
    page.wait_for_url("**/en/")


@pytest.mark.parametrize("edition", ["zh", "en"])
def test_each_edition_has_its_page_for_what_is_not_there(
    visit: Visitor, edition: str
) -> None:
    page = visit.open(f"/{edition}/404.html")
    says = {"zh": "没有这一页", "en": "There is no such page"}[edition]
    expect(page.locator("h1")).to_have_text(says)
    page.locator("article a").first.click()
    page.wait_for_url(f"**/{edition}/")
