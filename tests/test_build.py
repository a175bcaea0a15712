"""The gates of the site: what is wrong is not built, and the old site stays."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from literate.chapter import ROOT, read_all
from literate.run import digest, stamp
from literate.tangle import write


PARTS = ("docs", "literate", "attention_book")
FILES = (
    "README.md",
    "LICENSE",
    "LICENSE-PROSE",
    "CITATION.cff",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
)


@pytest.fixture(scope="module")
def book(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the whole book, with a site that is old."""
    root = tmp_path_factory.mktemp("book")
    for part in PARTS:
        shutil.copytree(ROOT / part, root / part)
    for file in (*FILES, "mkdocs.yml", "mkdocs.en.yml"):
        shutil.copy(ROOT / file, root)
    for chapter in read_all(root):  # as if its chapters had run
        for figure in chapter.figures:
            path = root / "docs/chapters" / figure
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("<svg xmlns='http://www.w3.org/2000/svg'/>")
        write(stamp(chapter, root), digest(chapter, root))
    (root / "site").mkdir()
    (root / "site/index.html").write_text("the old site")
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
    if not new:  # the whole English paragraph goes
        old = next(p for p in text.split("\n\n") if p.startswith(old)) + "\n\n"
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
            "docs/chapters/03-by-hand.md",
            "[4, 16, 12]\n",
            "[4, 16, 13]\n",
            "docs/chapters/03-by-hand.md:",
        ),
        (
            "attention_book/scoring.py",
            "positions < lengths",
            "positions <= lengths",
            "attention_book/scoring.py:",
        ),
        (
            "docs/chapters/03-by-hand.md",
            "To keep things tidy, some",
            "",
            "docs/chapters/03-by-hand.md:",
        ),
    ],
    ids=["output", "package", "twin"],
)
def test_a_fault_stops_the_build_and_keeps_the_old_site(
    book: Path, file: str, old: str, new: str, says: str
) -> None:
    with changed(book / file, old, new):
        assert says in refused(book)


def test_dead_links_stop_the_build_and_are_all_named(book: Path) -> None:
    """To a heading, to a page in the navigation, to the API: in one build."""
    page = book / "docs/chapters/03-by-hand.md"
    link = "](02-scoring.md#why-scale)"
    with (
        changed(page, link, "](02-scoring.md#why-not) [x][a.b]"),
        changed(book / "mkdocs.yml", "glossary.md", "nowhere.md"),
    ):
        said = refused(book)
    assert "chapters/03-by-hand.md" in said
    assert "#why-not" in said
    assert "nowhere.md" in said
    assert "a.b" in said


def test_the_book_itself_builds_without_a_warning(book: Path) -> None:
    result = build(book)
    assert (result.returncode, result.stderr.strip()) == (0, "")
    assert "the old site" not in (book / "site/index.html").read_text()
    for edition in ("zh", "en"):
        site = book / "site" / edition
        assert (site / "notebooks/02-scoring.ipynb").exists()
        api = (site / "api/scoring/index.html").read_text("utf-8")
        assert 'id="attention_book.scoring.fused_attention"' in api
        assert (
            'id="attention_book.scoring._join_causal"' not in api
        )  # internals stay inside
    table = (book / "site/zh/glossary/index.html").read_text("utf-8")
    assert "<td>因果掩码</td>" in table
