"""Draw pictures to share: attention on one page, and a card for each myth of the last chapter.

python -m literate.cards takes a Chromium, and writes dist/attention-EDITION.pdf and .png, and
dist/myths-EDITION/NAME.png. All that they say is taken from the chapters (literate.sheet).
"""

import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from jinja2 import Environment, FileSystemLoader
from playwright.sync_api import Browser, Error, Page, ViewportSize, sync_playwright

from literate import ROOT
from literate.blocks import ChapterError, heading, pick
from literate.chapter import read
from literate.root import NAME
from literate.setup import PROJECT
from literate.sheet import cells, inline, missing, sentence
from literate.weave import EDITIONS, title_of


DIST = ROOT / "dist"
ADDRESS = PROJECT["urls"]["Homepage"].removeprefix("https://").rstrip("/")
SHEET: ViewportSize = {"width": 1587, "height": 1122}  # A3, at 96 pixels an inch
CARD: ViewportSize = {"width": 1200, "height": 630}
TITLE = "一页纸的注意力 | All of attention on one page"
ABOUT = "公式、图和文字都取自《注意力之书》，标题前面是章号。CC BY 4.0 | Formulas, pictures and sentences are from The Attention Book, under the numbers of its chapters. CC BY 4.0"
LEGEND = {
    "q": "查询 Q | query Q",
    "k": "键 K | key K",
    "v": "值 V | value V",
    "a": "权重 | weights",
}
MARK = "流言 | Myth"
SO = "实际上 | What is so"
SOURCE = "第 {} 章 {} · {} | Chapter {}, {} · {}"
# What answers each myth, by how it begins.
ANSWERS = {
    "temperature-zero": "温度为 0 只是 | At temperature 0",
    "cache-linear": "缓存免去的是重算 | Step $t$ still multiplies",
    "memory": "FlashAttention 一块一块地算 | FlashAttention computes the same softmax",
    "square": "一层还有四个 … 才占一半 | A layer also has … at $n = 6d$",
    "rope": "公式对任何长度 … 到 512 个字符 | Its formula gives angles … At 512 characters",
    "context": "Hsieh 等人（2024） | Hsieh et al. (2024)",
    "experts": "混合专家（ … 两个专家 | In a mixture … two experts",
    "perplexities": "困惑度是对每个词元 | Perplexity is averaged",
    "emergent": "Schaeffer 等人 … 十个词元 | Schaeffer et al. … ten tokens",
    "letters": "模型读到的是 | What a model reads",
    "confidence": "概率变尖 | Probabilities can sharpen",
    "no-order": "有因果掩码时 … 两层便 | Under a causal mask … two layers does",
    "delta-rule": "记得多不多 | Whether it stores more",
    "map-shows-use": "随书翻译模型 … 四个一起关 | Each of the four heads",
    "sparser-weights": "除了第一层 | Beyond the first layer",
    "chain-of-thought": "Chen 等人（2025） | Chen et al. (2025)",
}
# The texts, formulas and pictures that stick out of where they stand.
OUTSIDE = """() => [...document.querySelectorAll("h1, h2, p, figure, footer, .katex-base")].filter(part => {
  const [it, place] = [part, part.parentElement.closest(".column, .so, body")].map(box => box.getBoundingClientRect());
  return it.left < place.left - 1 || it.right > place.right + 1 || it.top < place.top - 1 || it.bottom > place.bottom + 1;
}).map(part => part.textContent.trim())"""


class Myth(NamedTuple):
    """A claim and what is so, as HTML, and the name of both."""

    name: str
    claim: str
    answer: str


def myths(edition: str) -> list[Myth]:
    """Every claim of the page, in its order, with what answers it there."""
    page = read(Path("docs/trust/myths.md"))
    found = []
    for block in page.blocks:
        if block.kind != "heading" or not block.text.startswith("### “"):
            continue
        *titles, name = heading(block)
        if name not in ANSWERS:
            raise page.error(block, f"#{name} has no card; say in literate.cards what answers it")
        claim = inline(titles[edition == "en"], edition)
        found.append(Myth(name, claim, sentence(page, ANSWERS[name], edition)))
    if lost := ANSWERS.keys() - {myth.name for myth in found}:
        raise missing(page, f"myth #{min(lost)}")
    return found


def sheet_html(edition: str) -> str:
    legend = [(kind, pick(name, edition)) for kind, name in LEGEND.items()]
    title, about = (pick(text, edition) for text in (TITLE, ABOUT))
    about = f"{about} · {ADDRESS}"
    return _fill("sheet", edition, columns=cells(edition), legend=legend, title=title, about=about)


def myth_html(myth: Myth, edition: str) -> str:
    page = read(Path("docs/trust/myths.md"))
    words = page.number, title_of(page, edition), pick(NAME, edition)
    return _fill(
        "myth",
        edition,
        mark=pick(MARK, edition),
        so=pick(SO, edition),
        claim=myth.claim,
        answer=myth.answer,
        source=pick(SOURCE, edition).format(*words),
        address=ADDRESS,
    )


def _fill(template: str, edition: str, **words: object) -> str:
    theme = Environment(loader=FileSystemLoader(ROOT / "literate/theme"), autoescape=True)
    assets = f"{(ROOT / 'docs/assets').as_uri()}/"
    page = theme.get_template(f"{template}.html")
    return page.render(edition=edition, assets=assets, **words)


@contextmanager
def chromium(*options: str) -> Iterator[Browser]:
    """A real Chromium, that of the environment variable or the system, or Playwright's own."""
    names = os.environ.get("CHROMIUM"), shutil.which("chromium"), shutil.which("google-chrome")
    root = hasattr(os, "geteuid") and os.geteuid() == 0
    with sync_playwright() as play:
        try:
            browser = play.chromium.launch(
                executable_path=next(filter(None, names), None),
                args=[*options, *["--no-sandbox"] * root],
            )
        except Error:
            how = "install it, or name it in CHROMIUM, or run: playwright install chromium"
            raise SystemExit(f"want a Chromium to draw with, and found none; {how}") from None
        yield browser
        browser.close()


def lay_out(page: Page, html: str, what: str) -> None:
    """Show the HTML, and see that all of it fits."""
    with TemporaryDirectory() as folder:
        place = Path(folder) / "page.html"
        place.write_text(html, "utf-8")
        page.goto(place.as_uri())
        page.evaluate("document.fonts.ready")
    if outside := page.evaluate(OUTSIDE):
        raise SystemExit(f"{what}: no room for “{outside[0][:60]}”; say less, or show less")


def keep(place: Path, data: bytes) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    draft = place.with_name(f"{place.name}.draft")
    draft.write_bytes(data)
    draft.replace(place)


def draw(browser: Browser, out: Path) -> None:
    """Draw all of both editions."""
    for edition in EDITIONS:
        page = browser.new_page(viewport=SHEET, device_scale_factor=2)
        place = out / f"attention-{edition}"
        lay_out(page, sheet_html(edition), place.name)
        pdf = page.pdf(prefer_css_page_size=True, print_background=True, tagged=True)
        keep(place.with_suffix(".pdf"), pdf)
        keep(place.with_suffix(".png"), page.screenshot())
        page = browser.new_page(viewport=CARD)
        drawn = myths(edition)
        folder = out / f"myths-{edition}"
        shutil.rmtree(folder, ignore_errors=True)  # with what is no myth any more
        for myth in drawn:
            lay_out(page, myth_html(myth, edition), f"{folder.name}/{myth.name}")
            keep(folder / f"{myth.name}.png", page.screenshot())


if __name__ == "__main__":
    try:
        with chromium() as browser:
            draw(browser, DIST)
    except ChapterError as error:
        sys.exit(str(error))
