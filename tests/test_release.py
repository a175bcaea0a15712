"""A release: one version everywhere, each version's site in its place."""

import re
import tomllib
from pathlib import Path

import pytest

from literate import ROOT
from literate.publish import landing, publish
from literate.release import disagreements, notes


URL = "https://example.org/book/"
CITATION = "version: 0.2.0\ndate-released: 2027-01-31\n"
CHANGELOG = """# Changelog

## 0.2.0 (2027-01-31)

- New.

## 0.1.0 (2026-12-24)

- Old.
"""


@pytest.fixture
def book(tmp_path: Path) -> Path:
    """What names the version, as it is on the day of a release."""
    (tmp_path / "attention_book").mkdir()
    package = tmp_path / "attention_book/__init__.py"
    package.write_text('"""A."""\n\n\n__version__ = "0.2.0"\n', "utf-8")
    (tmp_path / "CHANGELOG.md").write_text(CHANGELOG, "utf-8")
    (tmp_path / "CITATION.cff").write_text(CITATION, "utf-8")
    return tmp_path


def test_package_changelog_and_citation_agree() -> None:
    assert disagreements() == []


def test_the_book_has_one_address() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    urls = project["project"]["urls"]
    citation = (ROOT / "CITATION.cff").read_text("utf-8")
    release = (ROOT / ".github/workflows/release.yml").read_text("utf-8")
    assert f'url: "{urls["Homepage"]}"' in citation
    assert f'repository-code: "{urls["Source"]}"' in citation
    assert f"SITE: {urls['Homepage']}\n" in release


def test_what_agrees_may_be_released(book: Path) -> None:
    assert disagreements("v0.2.0", book) == []
    assert notes(book) == "- New."


@pytest.mark.parametrize(
    ("file", "old", "new", "said"),
    [
        (
            "CHANGELOG.md",
            "## 0.2.0",
            "## 0.3.0",
            "CHANGELOG.md, at the top: want 0.2.0, got 0.3.0",
        ),
        (
            "CITATION.cff",
            "0.2.0",
            "0.1.0",
            "CITATION.cff, version: want 0.2.0, got 0.1.0",
        ),
        (
            "CITATION.cff",
            "01-31",
            "01-30",
            "CITATION.cff, date-released: want 2027-01-31, got 2027-01-30",
        ),
        (
            "attention_book/__init__.py",
            "0.2.0",
            "0.2.1",
            "the tag: want v0.2.1, got v0.2.0",
        ),
    ],
)
def test_what_disagrees_is_named(
    book: Path, file: str, old: str, new: str, said: str
) -> None:
    text = (book / file).read_text("utf-8")
    (book / file).write_text(text.replace(old, new, 1), "utf-8")
    assert said in disagreements("v0.2.0", book)


def test_without_a_tag_no_date_is_needed_and_with_one_it_is(
    book: Path,
) -> None:
    text = CHANGELOG.replace("2027-01-31", "unreleased")
    (book / "CHANGELOG.md").write_text(text, "utf-8")
    (book / "CITATION.cff").write_text("version: 0.2.0\n", "utf-8")
    assert disagreements(root=book) == []
    (said,) = disagreements("v0.2.0", book)
    assert said.endswith("want the day of the release, got unreleased")


def built(place: Path, page: str) -> Path:
    """A site with one page."""
    (place / "zh" / page).mkdir(parents=True)
    (place / "zh" / page / "index.html").write_text(page, "utf-8")
    (place / "index.html").write_text(landing(URL), "utf-8")
    (place / ".nojekyll").touch()
    return place


def test_the_newest_release_is_the_root_and_all_have_folders(
    tmp_path: Path,
) -> None:
    pages = tmp_path / "pages"
    (pages / ".git").mkdir(parents=True)
    for version, page in (
        ("0.9.0", "old"),
        ("0.10.0", "new"),
        ("0.9.1", "mended"),
    ):
        publish(built(tmp_path / version, page), version, pages)
    assert sorted(place.name for place in pages.iterdir()) == [
        *(".git", ".nojekyll", "0.10.0", "0.9.0", "0.9.1"),
        *("index.html", "versions.html", "zh"),
    ]
    assert [place.name for place in (pages / "zh").iterdir()] == ["new"]
    assert (pages / "0.9.0/zh/old/index.html").exists()
    assert f'"{URL}"' in (pages / "index.html").read_text("utf-8")
    assert f'"{URL}0.9.0/"' in (pages / "0.9.0/index.html").read_text("utf-8")
    for place, prefix in ((pages, ""), (pages / "0.9.0", "../")):
        text = (place / "versions.html").read_text("utf-8")
        assert re.findall("<strong>(.*?)</strong>", text) == [
            *("0.10.0", "0.9.1", "0.9.0")
        ]
        links = re.findall('<a href="(.*?)zh/"', text)
        assert links == [prefix, f"{prefix}0.9.1/", f"{prefix}0.9.0/"]


def test_a_version_is_three_numbers(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match=r"such as 0\.1\.0, got main"):
        publish(tmp_path, "main", tmp_path / "pages")


def test_workflows_call_sessions_that_are_there() -> None:
    sessions = (ROOT / "noxfile.py").read_text("utf-8")
    workflows = (ROOT / ".github/workflows").glob("*.yml")
    text = "".join(file.read_text("utf-8") for file in workflows)
    called = set(re.findall(r"nox -s (\w+)", text))
    assert called > {"site", "torch", "wheel"}
    there = re.findall(r'(?:^def |name=")(\w+)[("]', sessions, re.M)
    assert not called - set(there)
