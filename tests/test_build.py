"""The gates of the site: what is wrong is not built, and the old site stays."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import nbformat
import pytest
from nbformat import v4

from literate import ROOT
from literate.tangle import main as tangle
from literate.tangle import write


pytestmark = pytest.mark.slow  # each of them builds a site

APPLE = """# 苹果 | Apples {#apples}

[削皮](#peel)，[术语](../glossary.md)。

[Peel](#peel) it; [terms](../glossary.md).

```python title="attention_book/apple.py"
__all__ = ["peel"]
```

## 削皮 | Peel {#peel}

```python title="attention_book/apple.py"
def peel(x: int) -> int:
    \"\"\"Take one off.\"\"\"
    return _core(x)


def _core(x: int) -> int:
    return x - 1
```

```python
print(peel(3))
```

```output
2
```

还剩两个因果掩码。

Two causal masks are left.

```record apple/taste 滋味 | Taste
甜 | sweet
5
```
"""
PAGES = {
    "preface.md": """# 序 | Preface {#preface}

```python title="attention_book/__init__.py"
__all__: list[str] = []
```
""",
    "fruit/apple.md": APPLE,
    "glossary.md": """# 术语 | Glossary {#glossary}

## 水果 | Fruit {#terms-fruit}

```glossary
[causal-mask]
zh = "因果掩码"
en = "causal mask"
zh_means = "一种掩码。"
en_means = "A mask."
chapter = "apple"
```
""",
    "index.md": """# 一本小书 | A small book {#home}

很小。

Small.

![一棵树。 | A tree.](diagrams/tree.svg "树 | A tree")
""",
    "api/index.md": "# 软件包 | The package {#package}\n",
}
NAV = "nav:\n" + "".join(
    f"  - {page}\n" for page in [*PAGES, "labs/pear.ipynb"]
)
LAB = {
    "zh": "# 梨 | 见[章](../fruit/apple.md#peel)，有 $a^2$。",
    "en": "# Pears | See [chapter](../fruit/apple.md#peel); $a^2$.",
}
PEAR = """<svg width="10pt" height="10pt" viewBox="0 0 10 10">
<text>pear</text></svg>"""
DIAGRAM = """from literate.drawing import Drawing

drawing = Drawing(40)
drawing.text(230, 20, "大树 | a big tree")
"""
PROJECT = """[project]
name = "attention-book"
requires-python = ">=3.11"
optional-dependencies = {}
"""  # it has no address
RECORD = """{"command": "nox -s experiments -- apple", "seeds": [0, 1, 2],
"tables": {"taste": [["甜 | sweet"], ["5"]]}}"""


def small_book(root: Path) -> Path:
    """A small book, with the toolchain of the large one."""
    shutil.copytree(ROOT / "literate", root / "literate")
    shutil.copytree(
        ROOT / "docs/assets",
        root / "docs/assets",
        ignore=shutil.ignore_patterns("live"),  # which reads a record
    )
    for name, text in PAGES.items():
        write(root / "docs" / name, text)
    cells = [
        v4.new_markdown_cell(
            text.replace(" | ", "\n\n"), metadata={"tags": [language]}
        )
        for language, text in LAB.items()
    ]
    printed = v4.new_output("stream", name="stdout", text="3\n")
    drawn = v4.new_output("display_data", {"image/svg+xml": PEAR})
    cells.append(v4.new_code_cell("show(3)", outputs=[printed, drawn]))
    cells[-1].metadata["alt"] = {"zh": "一个梨", "en": "A pear"}
    labels = {"labels": {"pear": "梨"}}
    notebook = nbformat.writes(v4.new_notebook(cells=cells, metadata=labels))
    write(root / "docs/labs/pear.ipynb", notebook + "\n")
    write(root / "docs/diagrams/tree.py", DIAGRAM)
    write(root / "experiments/records/apple.json", RECORD)
    for name in (
        "README.md",
        "CONTRIBUTING.md",
        "mkdocs.en.yml",
        "pyproject.toml",
    ):
        shutil.copy(ROOT / name, root)
    write(root / "pyproject.toml", PROJECT)
    settings = (ROOT / "mkdocs.yml").read_text("utf-8")
    settings = re.sub(r"  redirects:.*\n(?:    .*\n)+", "", settings)
    before, _, after = settings.partition("nav:\n")
    write(root / "mkdocs.yml", before + NAV + after[after.index("\ntheme:") :])
    assert tangle([], root) == 0
    return root


@pytest.fixture(scope="module")
def book(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The small book, and an old site of it."""
    root = small_book(tmp_path_factory.mktemp("book"))
    write(root / "site/index.html", "the old site")
    return root


def build(root: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "literate.build"],
        cwd=root,
        env={**os.environ, "PYTHONPATH": str(root)},
        capture_output=True,
        text=True,
        check=False,
    )


@contextmanager
def changed(path: Path, old: str, new: str) -> Iterator[None]:
    """Within it, the file has the fault."""
    text = path.read_text("utf-8")
    assert old in text
    path.write_text(text.replace(old, new), "utf-8")
    try:
        yield
    finally:
        path.write_text(text, "utf-8")


def refused(book: Path) -> str:
    """Build, which must fail, say why, and leave the old site."""
    result = build(book)
    assert result.returncode != 0
    assert "Traceback" not in result.stderr
    assert (book / "site/index.html").read_text() == "the old site"
    return result.stdout + result.stderr


@pytest.mark.parametrize(
    ("file", "old", "new", "says"),
    [
        (
            "docs/fruit/apple.md",
            "\n2\n",
            "\n3\n",
            "apple.md:27: wrong output",
        ),
        (
            "attention_book/apple.py",
            "x - 1",
            "x - 2",
            "apple.py:11: ",
        ),
        (
            "docs/fruit/apple.md",
            "sweet\n5\n",
            "sweet\n6\n",
            "apple.md:37: apple/taste has here '5', this fence '6'",
        ),
    ],
    ids=["output", "package", "record"],
)
def test_a_fault_stops_the_build_and_keeps_the_old_site(
    book: Path, file: str, old: str, new: str, says: str
) -> None:
    with changed(book / file, old, new):
        assert says in refused(book)


def test_dead_links_stop_the_build_and_are_all_named(book: Path) -> None:
    """To a heading, to a page in the navigation, to the API: in one build."""
    page = book / "docs/fruit/apple.md"
    with (
        changed(page, "](../glossary.md)", "](../glossary.md#no) [x][a.b]"),
        changed(book / "mkdocs.yml", "- api/index.md", "- api/nowhere.md"),
    ):
        said = refused(book)
    assert "fruit/apple.md" in said
    assert "#no" in said
    assert "nowhere.md" in said
    assert "a.b" in said


def test_a_dead_link_of_a_lab_stops_the_build(book: Path) -> None:
    lab = book / "docs/labs/pear.ipynb"
    with changed(lab, "](../fruit/apple.md#peel)", "](../fruit/apple.md#no)"):
        said = refused(book)
    assert "labs/pear.ipynb" in said
    assert "#no" in said


def test_mkdocs_jupyter_alone_leaves_out_the_other_language(
    book: Path,
) -> None:
    with changed(book / "mkdocs.en.yml", "_tags: [zh]", "_tags: [none]"):
        said = refused(book)
    assert "labs/pear.ipynb: not the headings of one language" in said


def test_what_is_sound_is_built_without_a_warning(book: Path) -> None:
    result = build(book)
    assert (result.returncode, result.stderr.strip()) == (0, "")
    for page in ("index", "404"):
        root = (book / f"site/{page}.html").read_text("utf-8")
        assert not re.search("the old site|{{", root)
    for edition in ("zh", "en"):
        site = book / "site" / edition
        assert (site / "notebooks/apple.ipynb").exists()
        assert (site / "assets/book.css").exists()
        api = (site / "api/apple/index.html").read_text("utf-8")
        assert 'id="attention_book.apple.peel"' in api  # mkdocstrings
        assert "_core" not in re.sub("(?s)<details.*?</details>", "", api)
        page = (site / "fruit/apple/index.html").read_text("utf-8")
        assert "repository" not in page
        assert "docs/fruit/apple.md" not in page  # no source to lead to
        assert re.search(
            r'<figure class="record" id="tab-apple-taste">\s*<figcaption>.*?</figcaption>\s*<table>',
            page,
        )
        assert "assets/stylesheets/main." in page  # Material for MkDocs
        assert "<details>\n<summary>" in page  # pymdownx.blocks
        assert "language-python highlight" in page  # pymdownx.highlight
        glossary = (site / "glossary/index.html").read_text("utf-8")
        assert '<h3 class="entry" id="causal-mask">' in glossary
        assert 'href="../fruit/apple/"' in glossary
        page = (site / "fruit/apple/index.html").read_text("utf-8")
        assert page.count('href="../../glossary/#causal-mask"') == 2
        for language, means in (("zh", "一种掩码。"), ("en", "A mask.")):
            tip = f"tip-causal-mask-{language}"
            assert page.count(f'aria-describedby="{tip}" class="term"') == 1
            assert page.count(f'id="{tip}" lang="{language}"><b ') == 1
            assert page.count(f"</b> {means} <i>") == 1
        check_lab(site, edition)


def check_lab(site: Path, edition: str) -> None:
    """It comes from mkdocs-jupyter, in one language, and looks as others do."""
    page = (site / "labs/pear/index.html").read_text("utf-8")
    title, other = {"zh": ("梨", "Pears"), "en": ("Pears", "梨")}[edition]
    assert '<div class="jp-Notebook">' in page
    assert f'<h1 id="pears">{title}<a class="headerlink"' in page
    article = re.sub("(?s).*<article[^>]*>|</article>.*", "", page)
    assert other not in article
    assert 'href="../../fruit/apple/#peel">' in article
    assert 'class="katex"' in article
    assert 'href="../../notebooks/pear.ipynb" download' in article
    assert not re.search("<script|<style|https?://(?!www.w3.org)", article)
    for image in re.findall(r'<img [^>]*src="([^"]*)"', article):
        drawn = (site / "labs/pear" / image).read_text("utf-8")
        assert f"{ {'zh': '梨', 'en': 'pear'}[edition] }</text>" in drawn
    assert article.count("<img ") == 2
    assert (site / "labs/pear/index.html").stat().st_size < 20_000
