"""The zips that are read without a network, unpacked: from files, and from the smallest server."""

import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from literate import ROOT
from literate.offline import pack
from literate.weave import EDITIONS
from tests.browser.conftest import WIDE, Visitor


URL = "https://book.example/"
QUERIES = {
    "因果掩码": "attention/scoring",
    "perplexity": "language/language-models",
}


@pytest.fixture(scope="module")
def zips(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    dist = tmp_path_factory.mktemp("dist")
    return {name: pack(ROOT / "site", name, URL, dist) for name in EDITIONS}


def unpacked(made: Path, place: Path) -> Path:
    """The folder in a zip, where a reader might put it."""
    with zipfile.ZipFile(made) as zipped:
        zipped.extractall(place / "我的 书#1")
    (folder,) = place.glob("*/*")
    return folder


def found(page: Page, words: str) -> list[str]:
    """Where the search leads, which is opened by its key."""
    page.wait_for_load_state()  # and so the script that hears the key
    page.keyboard.press("/")
    page.locator("#search input").fill(words)
    expect(page.locator(f'#search ol[data-asked="{words}"]')).to_be_visible()
    links = page.locator("#search ol > li > a")
    return [link.evaluate("link => link.href") for link in links.all()]


@pytest.mark.parametrize("edition", EDITIONS)
def test_a_folder_is_read_without_a_server(
    chromium: Browser, zips: dict[str, Path], edition: str, tmp_path: Path
) -> None:
    folder = unpacked(zips[edition], tmp_path)
    context = chromium.new_context(viewport=WIDE)
    context.set_offline(True)
    visitor = Visitor(context.new_page(), "file://")
    page = visitor.open(str(folder / "index.html").replace("#", "%23"))
    site = (folder / edition).as_uri()
    expect(page).to_have_url(f"{site}/index.html")
    expect(page.get_by_text("python -m http.server")).to_be_visible()

    # A chapter: its formulas, figures and live piece; and the next one.
    page.locator(
        'article a[href="attention/pooling/index.html"]:visible'
    ).click()
    expect(page).to_have_url(f"{site}/attention/pooling/index.html")
    page.locator(".live").first.scroll_into_view_if_needed()
    expect(page.locator(".is-live .live svg").first).to_be_visible()
    fonts = "[...document.fonts].filter(font => font.status === 'loaded').map(font => font.family)"
    page.wait_for_function(f"{fonts}.includes('KaTeX_Math')")
    figures = page.locator("article img:visible")
    assert figures.count()
    for figure in figures.all():
        assert figure.evaluate("it => it.decode().then(() => it.naturalWidth)")
    other = page.locator("#edition").get_attribute("href") or ""
    assert other.startswith(URL)
    assert other.endswith("/attention/pooling/")
    page.locator('#contents a[href="../scoring/index.html"]').click()
    expect(page).to_have_url(f"{site}/attention/scoring/index.html")

    for words, place in QUERIES.items():
        links = found(page, words)
        assert any(f"/{place}/" in link for link in links), (words, links)
        page.locator(f'#search ol > li > a[href*="/{place}/"]').first.click()
        page.wait_for_url(f"{site}/{place}/index.html*")
        expect(page.locator("h1")).to_be_visible()
    context.close()
    assert visitor.faults == []


def test_a_server_of_one_line_shows_live_pages(
    chromium: Browser, zips: dict[str, Path], tmp_path: Path
) -> None:
    folder = unpacked(zips["zh"], tmp_path)
    command = [sys.executable, "-u", "-m", "http.server", "0"]
    server = subprocess.Popen(
        [*command, "--bind", "127.0.0.1"],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        assert server.stdout
        site = re.findall(r"http://[\d.:]+", server.stdout.readline())[0]
        context = chromium.new_context(viewport=WIDE)
        visitor = Visitor(context.new_page(), site)
        page = visitor.open("/")
        expect(page).to_have_url(f"{site}/zh/index.html")
        visitor.open("/zh/live/digit/index.html")
        page.get_by_role("button", name="7", exact=True).click()
        said = page.locator(".digit .result b")
        expect(said).to_have_text("7", timeout=60_000)
        assert found(page, "因果掩码")
        context.close()
        assert visitor.faults == []
    finally:
        server.terminate()
        server.communicate()


def test_the_same_site_makes_the_same_zip(
    zips: dict[str, Path], tmp_path: Path
) -> None:
    again = pack(ROOT / "site", "en", URL, tmp_path)
    assert again.read_bytes() == zips["en"].read_bytes()
    assert list(tmp_path.iterdir()) == [again]  # and leaves no draft
