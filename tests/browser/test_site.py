"""Walk both editions in a real browser, as a reader would.

Every test also fails on a console message, a missing file, or a request to any
other host: the `visit` fixture sees to that.
"""

import gzip
import json
import re
from pathlib import Path
from typing import Literal

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, ViewportSize, expect

from attention_book import Translator
from attention_book.interpret.explanations import explain_sentence
from attention_book.interpret.pictures import to_html
from literate.chapter import ROOT
from literate.glossary import terms
from tests.browser.conftest import WIDE, Visitor


BUILT = sorted(
    path
    for edition in ("zh", "en")
    for path in (ROOT / "site" / edition).glob("**/index.html")
)
MOVED = [p for p in BUILT if 'http-equiv="refresh"' in p.read_text("utf-8")]
PAGES = [
    path.parent.relative_to(ROOT / "site").as_posix()
    for path in BUILT
    if path not in MOVED
]
PHONE = {"viewport": {"width": 390, "height": 844}, "is_mobile": True}
SCORING = "attention/scoring/"
FUSED = "source/fused-attention/"
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
# A picture that a live piece replaces is looked at as it is on paper.
MISDRAWN = f"""edition => {{
  const replaced = [...document.querySelectorAll(".is-live")];
  replaced.forEach(figure => figure.classList.remove("is-live"));
  const found = ({DIAGRAMS})(edition);
  replaced.forEach(figure => figure.classList.add("is-live"));
  return found;
}}"""
# axe needs colours once for each look, and all else once for each width.
COLOURS = ["color-contrast", "link-in-text-block"]
OTHERS = {
    "rules": {rule: {"enabled": False} for rule in COLOURS}
    | {"target-size": {"enabled": True}}  # WCAG 2.2, which axe leaves out
}
READY = """() => {
  for (const image of document.images) image.loading = "eager";
  return document.fonts.status === "loaded" && [...document.images].every(image => image.complete);
}"""
CODE_IS_REACHED = """() => [...document.querySelectorAll("pre > code")]
  .filter(code => code.checkVisibility())
  .every(code => code.scrollWidth <= code.clientWidth || code.tabIndex >= 0)"""
# Code and formulas are thousands of parts, of few kinds.
CODE = ".highlight code span:not(:has(*))"
FORMULAS = ":is(p, li) > span.arithmatex > .katex"  # elsewhere wider text might not fit
ALIKE = Path(__file__).with_name("alike.js").read_text("utf-8")
AXE = """([within, options]) => axe.run(within ?? document, options).then(
  ({violations}) => violations
    .map(v => `${v.id}: ${v.help}: ${v.nodes.slice(0, 3).map(n => n.html)}`))"""


def violations(
    page: Page, options: dict[str, object], within: object = None
) -> list[str]:
    """What axe finds, its best practices among them."""
    if not page.evaluate("'axe' in window"):
        page.evaluate(Axe().axe_script)
    options = {"resultTypes": ["violations"], "selectors": False} | options
    return page.evaluate(AXE, [within, options])


SEEN: set[str] = set()


def pale(page: Page) -> list[str]:
    """What is hard to read, one of each kind of text that no page before had."""
    alike = page.evaluate_handle(f"({ALIKE})()")
    new = set(alike.evaluate("all => all.map(([kind]) => kind)")) - SEEN
    if not new:
        return []
    SEEN.update(new)
    chosen = "(all, new_) => all.filter(([kind]) => new_.includes(kind)).map(([, it]) => it)"
    included = alike.evaluate_handle(chosen, list(new))
    return violations(page, {"runOnly": COLOURS}, {"include": included})


def fits(page: Page) -> None:
    """Nothing sticks out to the right, and no stop begins a line."""
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert page.evaluate(STRAY_STOPS) == []


# What is to be seen of a sidebar is where the reader is.
IN_SIGHT = """selector => {
  const entry = document.querySelector(selector);
  const box = entry?.getBoundingClientRect();
  return !box || box.top >= 0 && box.bottom <= innerHeight;
}"""
# At the end of a short page the footer pushes the sidebars out.
HALF_WAY = "scrollTo(0, 0.5 * (document.body.scrollHeight - innerHeight))"


def sidebars_follow(page: Page) -> None:
    """They show where the reader is, at the top and half way down."""
    page.wait_for_function(IN_SIGHT, arg="#contents [aria-current]")
    page.evaluate(HALF_WAY)
    page.wait_for_function(IN_SIGHT, arg="[data-here]", timeout=2000)
    page.evaluate("scrollTo(0, 0)")


def misdrawn(page: Page, edition: str) -> list[str]:
    """What is wrong with the diagrams: too small, beside its box, and so on."""
    return page.evaluate(MISDRAWN, edition)


PAPER: ViewportSize = {"width": 690, "height": 1000}  # A4 within its margins
CUT = """() => [...document.querySelectorAll("article table")]
  .filter(table => table.getBoundingClientRect().right > innerWidth + 1)
  .map(table => table.textContent.slice(0, 60))"""


def is_whole_on_paper(page: Page) -> None:
    """No table is cut."""
    page.emulate_media(media="print")
    page.set_viewport_size(PAPER)
    assert page.evaluate(CUT) == []
    page.emulate_media(media="screen")
    page.set_viewport_size(WIDE)


STRAIGHT = """() => {
  const apart = "code, pre, script, svg, math, .arithmatex, .katex";
  const texts = document.createTreeWalker(
    document.querySelector("article"), NodeFilter.SHOW_TEXT);
  const found = [];
  while (texts.nextNode()) {
    const { data, parentElement } = texts.currentNode;
    if (data.includes('"') && !parentElement.closest(apart)) found.push(data);
  }
  return found;
}"""


def is_typeset(page: Page, path: str) -> None:
    """No word is one of the machines: a plugin's, or a typewriter's quotes."""
    assert "wzxhzdk" not in page.content()
    if path.startswith("en/") and "/api/" not in path:
        assert page.evaluate(STRAIGHT) == []


@pytest.mark.parametrize("path", PAGES)
def test_every_page_is_sound(tour: Visitor, path: str) -> None:
    """Wide and narrow, light and dark, in one language and in both, in one visit."""
    page = tour.open(f"/{path}/")
    page.wait_for_function(READY)
    assert (
        page.locator(
            ".katex-error, .arithmatex:not(:has(.katex), [data-tex])"
        ).count()
        == 0
    )
    assert page.evaluate("[...document.images].every(i => i.naturalWidth > 0)")
    ids = page.evaluate(
        "[...document.querySelectorAll('[id]')].map(e => e.id)"
    )
    assert len(ids) == len(set(ids))
    edition = path[:2]
    fits(page)
    sidebars_follow(page)
    is_typeset(page, path)
    is_whole_on_paper(page)
    assert misdrawn(page, edition) == []
    if page.locator("svg.diagram").count():
        page.set_viewport_size(NARROWEST)
        fits(page)
        assert misdrawn(page, edition) == []
    page.set_viewport_size(WIDE)
    twins = page.locator("#twins")
    assert twins.is_visible() == ("/labs/" not in path)
    if twins.is_visible():
        twins.click()
        fits(page)
        assert page.locator(".arithmatex:not(:has(.katex))").count() == 0
        twins.click()
    page.set_viewport_size(NARROW)
    fits(page)
    page.wait_for_function(CODE_IS_REACHED)
    for parts in (CODE, FORMULAS):
        page.evaluate(ALIKE, parts)
    if twins.is_visible():
        twins.click()
    assert violations(page, OTHERS) == []
    page.set_viewport_size(WIDE)
    assert violations(page, OTHERS) == []
    assert pale(page) == []
    page.add_style_tag(content="* { transition: none !important }")
    page.evaluate("document.body.dataset.mdColorScheme = 'slate'")
    assert misdrawn(page, edition) == []
    assert pale(page) == []


def test_many_pages_have_tables() -> None:
    """Else the check of what is cut on paper would check nothing."""
    built = [(ROOT / "site" / path / "index.html") for path in PAGES]
    assert sum("<table" in file.read_text("utf-8") for file in built) > 60


LARGEST = 250_000  # bytes of a page and all it asks for, packed, but for fonts


@pytest.mark.parametrize("path", PAGES)
def test_no_page_is_heavy(path: str) -> None:
    folder = ROOT / "site" / path
    html = (folder / "index.html").read_text("utf-8")
    asked = re.findall(
        r'<(?:link rel="stylesheet" href|script src|img [^>]*src)="([^":]+)"',
        html,
    )
    files = {folder / "index.html", *(folder / name for name in asked)}
    packed = {
        file.resolve(): len(gzip.compress(file.read_bytes())) for file in files
    }
    assert len(packed) > 5
    assert sum(packed.values()) < LARGEST, packed


def test_every_page_says_what_it_is(tour: Visitor) -> None:
    """To search engines, and to those who share a link."""
    told: dict[str, set[str]] = {"zh": set(), "en": set()}
    for path in PAGES:
        html = (ROOT / "site" / path / "index.html").read_text("utf-8")
        edition, place = path[:2], f"{path[3:]}/".lstrip("/")
        (description,) = re.findall(
            r'<meta name="description" content="([^"]+)">', html
        )
        assert description not in told[edition]
        told[edition].add(description)
        (canonical,) = re.findall(
            r'<link rel="canonical" href="([^"]+)">', html
        )
        assert canonical.endswith(f"/{edition}/{place}")
        root = canonical.removesuffix(f"{edition}/{place}")
        others = dict(
            re.findall(r'hreflang="([\w-]+)" href="(http[^"]+)">', html)
        )
        assert others["zh"] == f"{root}zh/{place}"
        assert others["en"] == others["x-default"] == f"{root}en/{place}"
        (card,) = re.findall(
            r'<meta property="og:image" content="([^"]+)">', html
        )
        assert (
            ROOT / "site" / card.removeprefix(root)
        ).stat().st_size > 10_000
        listed = (ROOT / "site" / edition / "sitemap.xml").read_text("utf-8")
        assert f"<loc>{canonical}</loc>" in listed
    robots = (ROOT / "site/robots.txt").read_text("utf-8")
    assert robots.count("/sitemap.xml") == 2
    for line in (ROOT / "site/llms.txt").read_text("utf-8").splitlines():
        if found := re.match(r"- \[.+?\]\(https?://[^/]+/(.+?)/\): .", line):
            assert found[1] in PAGES
    assert "404" not in robots
    page = tour.open("/en/attention/scoring/")
    assert page.title() == "2 Scoring functions - The Attention Book"


@pytest.mark.parametrize("edition", ["zh", "en"])
def test_an_old_address_leads_to_the_page(
    visit: Visitor, edition: str
) -> None:
    old = {path.parent.name for path in MOVED}
    assert {"02-scoring", "46-layers", "1-attention"} <= old
    visit.open(f"/{edition}/chapters/02-scoring/#masks")
    visit.page.wait_for_url(f"**/{edition}/{SCORING}#masks")


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


QUERIES = json.loads(
    Path(__file__).with_name("queries.json").read_text("utf-8")
)


def search(page: Page, words: str) -> list[str]:
    """The links of what is found, in the order of the pages."""
    page.locator("#search input").fill(words)
    page.locator(f'#search ol[data-asked="{words}"]').wait_for(
        state="attached"
    )
    links = page.locator("#search ol > li > a")
    return page.evaluate(
        "links => links.map(link => link.href)", links.element_handles()
    )


FIRST_TEN_OF_EACH = """async (asked) => {
    const { find } = await import(new URL("assets/search.js", location.href));
    const address = async ({ results }) => (await results[0].data()).url;
    const found = [];
    for (const words of asked)
      found.push(await Promise.all((await find(words)).slice(0, 10).map(address)));
    return found;
}"""


@pytest.mark.parametrize("edition", ["zh", "en"])
def test_search_finds_what_is_meant(visit: Visitor, edition: str) -> None:
    """First or second, in both languages, in either edition, for 19 of 20 queries."""
    page = visit.open(f"/{edition}/")
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.reload()
    assert not any("pagefind" in url for url in asked)
    found = page.evaluate(FIRST_TEN_OF_EACH, list(QUERIES))
    missed = {}
    for (words, wanted), links in zip(QUERIES.items(), found, strict=True):
        pages = [link.rstrip("/").rpartition("/")[2] for link in links]
        if not set(pages[:2]) & set(wanted):
            missed[words] = pages[:3]
        api = ["/api/" in link for link in links]
        assert api == sorted(api)  # chapters first
        assert all(f"/{edition}/" in link for link in links)
    assert len(missed) <= len(QUERIES) / 20, missed
    assert len(QUERIES) >= 200
    assert any("pagefind" in url for url in asked)


@pytest.mark.parametrize("edition", ["zh", "en"])
def test_search_shows_the_language_of_the_edition(
    visit: Visitor, edition: str
) -> None:
    """And no heading twice, and no section of exercises; more than ten when asked."""
    page = visit.open(f"/{edition}/")
    page.keyboard.press("/")
    expect(page.locator("#search input")).to_be_focused()
    for words in ("attention", "位置编码", "label smoothing"):
        assert len(search(page, words)) == 10
        shown = page.locator("#search ol").inner_text()
        assert "⟦" not in shown
        assert "⟧" not in shown
        for excerpt in page.locator("#search ol p").all_inner_texts():
            han = len(re.findall("[㐀-鿿]", excerpt))
            few = han < min(5, len(excerpt))
            assert not few if edition == "zh" else han < len(excerpt) / 3
        ends = ("#references", "#exercises", "#remember")
        for link in page.locator("#search ul a").all():
            assert not (link.get_attribute("href") or "").endswith(ends)
    page.locator("#search .more").click()
    page.wait_for_function(
        "document.querySelectorAll('#search ol > li').length > 10"
    )


FIRST_PAGE_OF_EACH = """async (asked) => {
    const { find } = await import(new URL("assets/search.js", location.href));
    const first = async (words) => (await (await find(words))[0]?.results[0].data())?.url;
    return Promise.all(asked.map(first));
}"""


@pytest.mark.parametrize("edition", ["zh", "en"])
def test_the_chapter_that_explains_a_term_comes_first(
    visit: Visitor, edition: str
) -> None:
    """Whichever of its names is asked for."""
    page = visit.open(f"/{edition}/")
    chapter = {
        name: f"/{edition}/{term.path.relative_to('docs').with_suffix('')}/"
        for term in terms()
        if term.path
        for name in (*term.forms("zh"), *term.forms("en"))
        for name in (name, name.upper())
    }
    assert len(chapter) > 500
    found = page.evaluate(FIRST_PAGE_OF_EACH, list(chapter))
    missed = {
        name: first
        for (name, wanted), first in zip(chapter.items(), found, strict=True)
        if first != wanted
    }
    assert missed == {}


def test_search_is_driven_by_keys(visit: Visitor) -> None:
    page = visit.open(f"/en/{SCORING}")
    page.keyboard.press("Control+k")
    search(page, "因果掩码")
    page.keyboard.press("ArrowDown")
    expect(page.locator("#search ol a").first).to_be_focused()
    page.keyboard.press("ArrowUp")
    expect(page.locator("#search input")).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.locator("#search")).to_be_hidden()
    page.locator("#find").click()
    search(page, "padding mask")
    assert violations(page, OTHERS) == []
    assert page.locator("#search mark").count() > 0
    assert "|" not in page.locator("#search ol a").first.inner_text()
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile(f"/{SCORING}|/fast/|/transformer/"))


def test_search_says_when_nothing_is_found(visit: Visitor) -> None:
    page = visit.open("/en/")
    page.locator("#find").click()
    assert search(page, "饕餮") == []
    expect(page.locator("#search [role=status]")).to_contain_text(
        "Nothing found"
    )


@pytest.mark.parametrize("edition", ["zh", "en"])
def test_chapters_figures_and_parts_have_their_place(
    visit: Visitor, edition: str
) -> None:
    page = visit.open(f"/{edition}/{SCORING}")
    title = {"zh": "打分函数", "en": "Scoring functions"}[edition]
    expect(page.locator("h1 .number")).to_have_text("2")
    here = page.locator("nav.book [aria-current=page]")
    expect(here).to_be_visible()
    assert re.sub(r"\s+", " ", here.inner_text()) == f"2 {title}"
    expect(page.locator(".md-footer__link--next")).to_contain_text("3 ")
    parts = page.locator("nav.book > ul > li > details")
    assert (
        parts.evaluate_all("all => all.filter(part => part.open).length") == 1
    )
    other = page.locator("nav.book a[href$='encoder/']")
    expect(other).to_be_hidden()
    parts.nth(3).locator("summary").first.click()
    expect(other).to_be_visible()
    expect(page.locator("nav.book a[href$='api/attention/']")).to_be_hidden()
    label = {"zh": "图", "en": "Figure"}[edition]
    numbers = page.locator(
        "section:not(.twin) figcaption .number, figcaption > .number"
    )
    shown = [text for text in numbers.all_inner_texts() if text]
    assert shown == [f"{label} 2.{n}" for n in range(1, len(shown) + 1)]
    about = page.locator(".about")
    expect(about).to_contain_text("PyTorch")
    expect(about).to_contain_text(re.compile(r"\d{4}-\d\d-\d\d"))


def test_keys_reach_everything_in_order(visit: Visitor) -> None:
    page = visit.open(f"/en/{SCORING}")
    reached = []
    for _ in range(8):
        page.keyboard.press("Tab")
        reached.append(
            page.evaluate(
                "(e => e.id || e.className || e.textContent.trim())(document.activeElement)"
            )
        )
    assert reached[:7] == [
        "md-skip",
        "brand",
        "find",
        "twins",
        "edition",
        "shade",
        "repository",
    ]


@pytest.mark.parametrize("options", [PHONE])
def test_on_a_phone_the_contents_open_and_close(
    visit: Visitor, options: dict[str, object]
) -> None:
    page = visit.open(f"/zh/{SCORING}")
    here = page.locator("nav.book [aria-current=page]")
    expect(here).not_to_be_in_viewport()
    menu = page.locator("#menu")
    menu.click()
    expect(here).to_be_in_viewport()
    expect(here).to_be_focused()
    expect(menu).to_have_attribute("aria-expanded", "true")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.keyboard.press("Escape")
    expect(here).not_to_be_in_viewport()
    expect(menu).to_be_focused()
    page.locator(".contents summary").click()
    expect(page.locator(".contents a").first).to_be_visible()


@pytest.mark.parametrize("options", [{"java_script_enabled": False}])
def test_without_javascript_all_can_be_read(
    visit: Visitor, options: dict[str, object]
) -> None:
    page = visit.open(f"/en/{SCORING}")
    expect(
        page.locator("section:not(.twin) .katex-html").first
    ).to_be_visible()
    assert (
        page.locator(
            "section:not(.twin) .arithmatex:not(:has(.katex))"
        ).count()
        == 0
    )
    visit.open(f"/en/{FUSED}")
    expect(page.locator(".folded").first).to_be_visible()
    expect(page.locator(".fold").first).to_be_hidden()


def test_print_is_a_clean_chapter(visit: Visitor) -> None:
    page = visit.open(f"/en/{SCORING}")
    page.locator("#shade").click()
    page.emulate_media(media="print")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    for chrome in (
        ".md-header",
        ".md-sidebar",
        ".md-footer",
        ".copy",
        ".about",
        ".fold",
    ):
        assert page.locator(f"{chrome}:visible").count() == 0, chrome
    for kept in (
        "details p",
        ".katex-html",
        "svg.diagram",
        "img.light",
        ".folded",
    ):
        expect(page.locator(kept).first).to_be_visible()
    assert page.evaluate("document.body.scrollWidth <= innerWidth")
    body = page.locator("body")
    expect(body).to_have_attribute("data-md-color-scheme", "default")
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    expect(body).to_have_attribute("data-md-color-scheme", "slate")
    assert page.locator(".md-content details[open]").count() == 0


def test_a_module_of_the_package_says_its_language() -> None:
    html = (ROOT / "site/zh/api/attention/index.html").read_text("utf-8")
    assert html.count('lang="en" class="doc doc-contents') > 10
    assert not (ROOT / "site/en/assets/javascripts").exists()


@pytest.mark.parametrize("options", [{"color_scheme": "dark"}])
def test_the_first_shade_is_the_systems(
    visit: Visitor, options: dict[str, object]
) -> None:
    page = visit.open(f"/zh/{SCORING}")
    body = page.locator("body")
    expect(body).to_have_attribute("data-md-color-scheme", "slate")
    page.emulate_media(color_scheme="light")
    expect(body).to_have_attribute("data-md-color-scheme", "default")


@pytest.mark.parametrize("edition", ["zh", "en"])
def test_package_and_chapter_link_both_ways(
    visit: Visitor, edition: str
) -> None:
    page = visit.open(f"/{edition}/{FUSED}")
    page.locator(".api a", has_text="fused_attention").click()
    page.wait_for_url(
        "**/api/attention/#attention_book.attention.fused.fused_attention"
    )
    entry = page.locator(".doc-object:has(h3:has-text('fused_attention'))")
    entry.locator(f"+ p a[href*='{FUSED}']").click()
    page.wait_for_url(f"**/{edition}/{FUSED}#together")


@pytest.mark.parametrize("edition", ["zh", "en"])
def test_a_notebook_is_offered(visit: Visitor, edition: str) -> None:
    page = visit.open(f"/{edition}/{SCORING}")
    with page.expect_download() as download:
        page.locator(".about a[download]").click()
    assert download.value.suggested_filename == "scoring.ipynb"
    address = page.locator(".about .colab").get_attribute("href")
    assert address.startswith("https://colab.research.google.com/github/")
    release, _, place = address.partition("/blob/gh-pages/")[2].partition("/")
    assert re.fullmatch(r"\d+\.\d+\.\d+", release)
    assert place == f"{edition}/notebooks/scoring.ipynb"
    assert (ROOT / "site" / place).exists()


def test_long_docstrings_are_folded_and_copied_whole(visit: Visitor) -> None:
    page = visit.open(f"/en/{FUSED}")
    block = page.locator(".highlight:has(.fold)", has_text="Returns:").first
    rest = block.locator(".folded").first
    expect(rest).to_be_hidden()
    block.locator(".copy").click()
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
    page = tour.open(f"/{edition}/attention/by-hand/")
    assert page.locator(".tip:visible").count() == 0
    for language in ("zh", "en"):
        page.evaluate("document.documentElement.classList.add('both')")
        term = page.locator(
            f"section[lang={language}] a[href$='#query']"
        ).first
        tip = page.locator(f"#tip-query-{language}")
        means = next(t.means(language) for t in terms() if t.id == "query")
        term.hover()
        expect(tip).to_be_visible()
        expect(tip).to_contain_text(means)
        expect(tip.locator("b")).to_have_text(
            {"zh": "query", "en": "查询"}[language]
        )
        expect(term).to_have_accessible_description(
            re.compile(re.escape(means))
        )
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
        page.evaluate("new Promise(requestAnimationFrame)")  # resize first
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
    visit.open("/en/").evaluate("localStorage.setItem('shade', 'slate')")
    page = visit.open(path)
    expect(page.locator("h1")).to_contain_text("There is no such page")
    expect(page.locator("html")).to_have_class("slate")
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


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_an_explanation_can_be_read_without_its_colours(
    chromium: Browser, tmp_path: Path, scheme: Literal["light", "dark"]
) -> None:
    """By keyboard, by screen reader, on a phone, in either scheme."""
    explanation = explain_sentence(
        Translator.load(), "Yesterday I found a key in the garden."
    )
    file = tmp_path / "page.html"
    html = to_html(explanation.heat_maps, explanation.output)
    file.write_text(html, "utf-8")
    page = chromium.new_page(viewport=NARROW, color_scheme=scheme)
    page.goto(file.as_uri())
    fits(page)
    assert violations(page, {}) == []
    table = page.get_by_role("region").first
    shown = explanation.heat_maps[0]
    expect(table).to_have_attribute("aria-label", shown.title)
    page.keyboard.press("Tab")
    expect(table).to_be_focused()
    page.keyboard.press("End")
    page.keyboard.press("ArrowRight")
    page.wait_for_function(
        "document.activeElement.scrollLeft > 0", timeout=5000
    )
    first, n_columns = shown.row_names[0], len(shown.column_names)
    row = table.get_by_role("row", name=first).first
    expect(row.get_by_role("rowheader")).to_have_text(first)
    expect(row.get_by_role("cell")).to_have_count(n_columns)
    page.close()
