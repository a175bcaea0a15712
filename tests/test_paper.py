"""The book as PDF and EPUB: a small one, made from its site."""

import itertools
import os
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote

import pytest
from bs4 import BeautifulSoup

from literate import ROOT
from literate.paper import __main__ as paper
from literate.paper.leaves import Leaves
from literate.paper.still import grounded, still
from literate.tangle import main as tangle
from literate.tangle import write
from tests.test_build import APPLE, PAGES, build, small_book


pytestmark = pytest.mark.slow  # most of them build a site
CHECKERS = [
    found
    for name in ("/usr/share/java/epubcheck.jar", shutil.which("epubcheck"))
    if name and (found := Path(name)).exists()
]
JAVA = shutil.which("java") or ""
URL = "https://book.example/"
LONG = "print(" + "'abcdefghijklmnopqrst', " * 8 + "sep='')"
MORE = rf"""
见[序](../preface.md)、[图](#fig-tree)、[式](#eq-sum)、[软件包](../api/index.md)，$\hat{{x}}_i$。

See the [preface](../preface.md), [Figure](#fig-tree), [Equation](#eq-sum) and
[the package](../api/index.md); $\hat{{x}}_i$.

$$
y = \operatorname{{softmax}}\bigl(x\bigr) \odot \tfrac{{1}}{{2}} \label{{eq-sum}}
$$

![一棵树。 | A tree.](../diagrams/tree.svg "树 | A tree")

/// details | 答案 | Answer

三。

Three.

///

```text
{LONG}
```

## 参考文献 | References {{#references}}

- [《苹果》](https://fruit.example/apple_tree/)。

- [Apples](https://fruit.example/apple_tree/).
"""


@pytest.fixture(scope="module")
def book(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small book whose site and prints are made."""
    root = small_book(tmp_path_factory.mktemp("book"))
    write(root / "docs/fruit/apple.md", APPLE + MORE)
    preface = PAGES["preface.md"].replace(
        "__all__", '__version__ = "7.11"\n__all__'
    )
    write(root / "docs/preface.md", preface)
    shutil.copy(ROOT / "pyproject.toml", root)
    lab = (
        root / "docs/labs/pear.ipynb"
    )  # whose drawing is to be an SVG by itself
    space = '<svg xmlns=\\"http://www.w3.org/2000/svg\\" '
    write(lab, lab.read_text("utf-8").replace("<svg ", space))
    shutil.copy(ROOT / "docs/diagrams/home.py", root / "docs/diagrams")
    assert tangle([], root) == 0
    built = build(root)
    assert not built.returncode, built.stderr
    make(root)
    return root


def make(root: Path) -> str:
    """Make the prints; return what is said."""
    done = subprocess.run(
        [sys.executable, "-m", "literate.paper", "--url", URL],
        cwd=root,
        env={
            **os.environ,
            "PYTHONPATH": str(root),
            "SOURCE_DATE_EPOCH": "1000000000",
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert not done.returncode, done.stderr
    assert not done.stderr
    return done.stdout


def epubs(root: Path) -> Iterator[tuple[str, dict[str, bytes]]]:
    """The files of each EPUB."""
    for path in sorted((root / "dist").glob("*.epub")):
        with zipfile.ZipFile(path) as archive:
            yield (
                path.name,
                {name: archive.read(name) for name in archive.namelist()},
            )


def xhtml(files: dict[str, bytes]) -> dict[str, BeautifulSoup]:
    return {
        name: BeautifulSoup(text, "xml")
        for name, text in files.items()
        if name.endswith(".xhtml")
    }


def pdf_text(path: Path) -> str:
    if not (reader := shutil.which("pdftotext")):
        pytest.skip("pdftotext, of poppler-utils, is not here")
    return subprocess.run(
        [reader, path, "-"], capture_output=True, check=True, text=True
    ).stdout


def test_all_are_made(book: Path) -> None:
    names = sorted(path.name for path in (book / "dist").iterdir())
    ends = ("-pictures.epub", ".epub", ".pdf")
    assert names == [
        f"attention-book-{e}{end}" for e in ("en", "zh") for end in ends
    ]


def test_links_lead_somewhere(book: Path) -> None:
    for name, files in epubs(book):
        pages = xhtml(files)
        ids = {
            page: {tag["id"] for tag in soup.select("[id]")}
            for page, soup in pages.items()
        }
        leading = set()
        for page, soup in pages.items():
            for link in soup.select("a[href]"):
                href = unquote(str(link["href"]))
                if "://" in href:
                    leading.add(href)
                    continue
                path, _, anchor = href.partition("#")
                there = (
                    os.path.normpath(Path(page).parent / path)
                    if path
                    else page
                )
                assert there in pages, (name, href)
                assert not anchor or anchor in ids[there], (name, href)
        edition = name.split("-")[2][:2]
        assert f"{URL}{edition}/api/" in leading  # which is on the web alone
        assert f"{URL}{edition}/preface/" not in leading


def test_sections_of_an_outside_page_stay_in_its_file(book: Path) -> None:
    for name, files in epubs(book):
        pages = xhtml(files)
        nav = pages.pop("EPUB/nav.xhtml")
        (page,) = (p for p in pages.values() if p.find(id="fruit.apple"))
        assert page.find(id="fruit.apple.peel"), name
        listed = [str(link["href"]) for link in nav.select("nav#toc a")]
        assert any(href.endswith("#fruit.apple.peel") for href in listed)
        assert any(href.endswith("#glossary.terms-fruit") for href in listed)
        assert not any("causal-mask" in href for href in listed)


def test_numbers_of_what_is_referred_to(book: Path) -> None:
    for name, files in epubs(book):
        text = " ".join(
            soup.get_text() for soup in xhtml(files).values()
        ).replace("\N{NO-BREAK SPACE}", " ")
        expected = ("Figure 1.1", "(1.1)", "Table 1.1")
        if "-zh" in name:
            expected = ("图 1.1", "(1.1)", "表 1.1")
        for number in expected:
            assert text.count(number) >= 1, (name, number)


def test_no_colour_that_only_a_style_sheet_knows(book: Path) -> None:
    for name, files in epubs(book):
        drawn = [file for file in files if file.endswith(".svg")]
        assert len(drawn) >= 2, name
        for file in drawn:
            text = files[file].decode()
            assert "var(" not in text, (name, file)
            assert "class=" not in text or "typst" in text, (name, file)


def test_every_formula_is_there_and_no_tex(book: Path) -> None:
    counts = {}
    for name, files in epubs(book):
        count = 0
        for soup in xhtml(files).values():
            count += len(soup.select("math, img.math"))
            for image in soup.select("img.math"):
                assert image["alt"], name
            for formula in soup.select("annotation"):
                formula.decompose()
            assert not re.search(r"\\[a-z]+|\$", soup.get_text()), name
        counts[name] = count
    assert set(counts.values()) == {3}, counts  # one of them in the lab


def test_pictures_take_the_place_of_mathml(book: Path) -> None:
    for name, files in epubs(book):
        whole = b"".join(files.values())
        assert (b"<math" in whole) == ("pictures" not in name), name


def test_answers_are_unfolded_and_nothing_is_a_button(book: Path) -> None:
    for name, files in epubs(book):
        soups = xhtml(files).values()
        assert not any(
            soup.select("details, button, section.twin") for soup in soups
        )
        titles = {
            str(quote.strong.get_text())
            for soup in soups
            for quote in soup.select("blockquote")
            if quote.strong
        }
        assert ("答案" if "-zh" in name else "Answer") in titles, name


def test_what_an_epub_says_of_itself(book: Path) -> None:
    for name, files in epubs(book):
        about = BeautifulSoup(files["EPUB/content.opf"], "xml")
        lang = "zh-Hans" if "-zh" in name else "en-GB"
        assert about.find("dc:language").get_text() == lang
        assert about.select("item[properties=cover-image]"), name
        assert "EPUB/nav.xhtml" in files
        for page, soup in xhtml(files).items():
            assert soup.html["xml:lang"] == lang, (name, page)
            if "cover" not in page:
                assert all(
                    image.has_attr("alt") for image in soup.select("img")
                )


def test_text_of_the_pdfs(book: Path) -> None:
    text = pdf_text(book / "dist/attention-book-zh.pdf")
    for words in (
        "还剩两个因果掩码",
        "第 7.11 版",
        "2001-09-09",
        "(1.1)",
        "答案",
    ):
        assert words in text
    assert "Two causal masks" not in text
    assert f"{URL}zh/" in text
    assert r"\operatorname" not in text
    english = pdf_text(book / "dist/attention-book-en.pdf")
    assert "Two causal masks are left" in english
    flat = re.sub(r"\s", "", english)
    assert re.sub(r"\s", "", LONG) in flat  # broken into lines, whole
    bare = flat.replace("\N{ZERO WIDTH SPACE}", "")
    assert "Applesfruit.example/apple_tree" in bare  # for who cannot click


def test_the_same_bytes_again(book: Path) -> None:
    before = {
        path: path.read_bytes() for path in sorted((book / "dist").iterdir())
    }
    make(book)
    for path, content in before.items():
        assert path.read_bytes() == content, path.name


@pytest.mark.skipif(not (CHECKERS and JAVA), reason="epubcheck is not here")
def test_epubcheck_is_content(book: Path) -> None:
    for path in sorted((book / "dist").glob("*.epub")):
        checked = subprocess.run(
            [JAVA, "-jar", CHECKERS[0], path],
            capture_output=True,
            text=True,
            check=False,
        )
        assert not checked.returncode, checked.stdout + checked.stderr
        assert "WARNING" not in checked.stdout + checked.stderr


def test_a_link_that_leads_nowhere(
    book: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("literate.paper.leaves.ROOT", book)
    leaves = Leaves("en", book / "site", URL, tmp_path)
    leaves.pages["preface"] += '<p><a href="../fruit/apple/#pear">pear</a></p>'
    with pytest.raises(ValueError, match=r"leads to fruit\.apple\.pear"):
        leaves.bound()


def test_what_moves_is_an_address(
    book: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("literate.paper.leaves.ROOT", book)
    leaves = Leaves("en", book / "site", URL, tmp_path)
    live = '<div class="live" data-live="x"><p>Turn JavaScript on.</p></div>'
    leaves.pages["preface"] += live
    html = leaves.leaf("preface")
    assert f'href="{URL}en/preface/"' in html
    assert "JavaScript" not in html


def test_no_level_of_headings_is_left_out(
    book: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("literate.paper.leaves.ROOT", book)
    whole = Leaves("en", book / "site", URL, tmp_path).bound()
    levels = [int(level) for level in re.findall(r"<h(\d)", whole)]
    assert max(levels) >= 3
    steps = [b - a for a, b in itertools.pairwise([0, *levels])]
    assert max(steps) == 1, levels


def test_a_page_that_was_not_built(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="nox -s site"):
        Leaves("en", tmp_path, URL, tmp_path)


def test_a_missing_font(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(paper, "DRAFT", tmp_path)
    monkeypatch.setattr(paper, "FONTS", ("No Such Font",))
    with pytest.raises(SystemExit, match=r"No Such Font.*fonts-noto-cjk"):
        paper.fonts()


def test_colours_of_a_diagram() -> None:
    drawn = still(
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9" class="diagram">'
        '<g class="cells q"><rect x="1" width="3"/></g><text class="m">x</text></svg>'
    )
    assert "fill: #c0392f" in drawn  # --ink: var(--q), of the light scheme
    assert 'rx="2"' in drawn
    assert 'viewBox="0 0 9 9"' in drawn
    assert "font-style: italic" in drawn
    assert 'fill="#fff"' in drawn


def test_a_variable_that_nothing_sets(monkeypatch: pytest.MonkeyPatch) -> None:
    rules = [("rect", {"fill": "var(--night)"})]
    monkeypatch.setattr("literate.paper.still.rules", lambda: rules)
    with pytest.raises(ValueError, match="sets no --night"):
        still('<svg class="diagram"><rect/></svg>')


def test_chinese_in_a_plot_has_a_font() -> None:
    font = "style=\"font-family: 'DejaVu Sans', sans-serif\""
    plot = f"<!DOCTYPE svg><svg><text {font}>头</text><text {font}>head</text></svg>"
    first, second = re.findall(r"<text.*?</text>", grounded(plot))
    assert first.index("Noto Sans CJK SC") < first.index("DejaVu Sans")
    assert "Noto" not in second
    assert "DOCTYPE" not in grounded(plot)
