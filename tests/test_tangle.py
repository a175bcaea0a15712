"""Tangling, and the way back."""

import shutil
from pathlib import Path

import pytest

from literate.chapter import PACKAGE, ROOT, read_all
from literate.tangle import differences, main, write
from tests.book import Book


TITLE = '```python title="attention_book/apple.py"\n'
CHAPTER = f"""# 苹果 | Apple

{TITLE}import math

RED = 1
```

说一句。

A word.

{TITLE}def peel(n):
    return n - 1


def core(n):
    return n
```

{TITLE}def seeds(n):
    return math.floor(n)
```
"""


def test_the_package_equals_its_chapters() -> None:
    assert differences(read_all()) == []


def test_blocks_are_joined_by_two_blank_lines(book: Book) -> None:
    book.write(CHAPTER)
    assert book.tangle() == 0
    header, body = book.module.read_text().split("\n", 1)
    assert header.startswith("# Made from docs/fruit/apple.md (")
    assert body.startswith("import math\n\nRED = 1\n\n\ndef peel(n):\n")
    assert body.endswith("\n\n\ndef seeds(n):\n    return math.floor(n)\n")
    assert book.tangle("--check") == 0


def test_check_tells_an_old_module_from_an_edited_one(
    book: Book, capsys: pytest.CaptureFixture[str]
) -> None:
    book.write(CHAPTER)
    assert book.tangle("--check") == 1
    assert "apple.py:1: is not there yet" in capsys.readouterr().err

    book.tangle()
    book.write(CHAPTER.replace("n - 1", "n - 2"))
    assert book.tangle("--check") == 1
    said = capsys.readouterr().err
    assert "apple.py:8: has '    return n - 1', the chapter" in said
    assert "and is older; run: nox -s tangle\n" in said

    book.write(CHAPTER)
    text = book.module.read_text()
    book.module.write_text(text.replace("n - 1", "n - 3"))
    assert book.tangle("--check") == 1
    said = capsys.readouterr().err
    assert "apple.py:8: has '    return n - 3', the chapter" in said
    assert "and was edited here; carry that back with" in said


def test_a_stray_module_is_found(
    book: Book, capsys: pytest.CaptureFixture[str]
) -> None:
    book.write(CHAPTER)
    book.tangle()
    book.module.with_name("pear.py").write_text("x = 1\n")
    assert book.tangle("--check") == 1
    assert "pear.py:1: no chapter defines" in capsys.readouterr().err


def test_tangling_keeps_an_edited_module_unless_told(
    book: Book, capsys: pytest.CaptureFixture[str]
) -> None:
    book.write(CHAPTER)
    book.tangle()
    edited = book.module.read_text().replace("n - 1", "n - 3")
    book.module.write_text(edited)
    book.write(CHAPTER.replace("math.floor", "math.ceil"))

    assert book.tangle() == 1
    assert "and was edited here; carry that back" in capsys.readouterr().err
    assert book.module.read_text() == edited

    assert book.tangle("--force") == 0
    assert "n - 1" in book.module.read_text()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("def core(n):\n    return n\n", "def core(n):\n    return +n\n"),
        ("    return n\n\n\n", "    return n\n    # the end\n\n\n"),
        ("math.floor(n)\n", "math.floor(n)\n\n\ndef pip():\n    pass\n"),
        (
            "def core(n):",
            "def stalk():\n    pass\n\n\ndef core(n):",
        ),  # inside one block
        ("def peel(n):\n    return n - 1\n\n\n", ""),
    ],
)
def test_stitch_carries_an_edit_back(
    book: Book, capsys: pytest.CaptureFixture[str], old: str, new: str
) -> None:
    book.write(CHAPTER)
    book.tangle()
    text = book.module.read_text()
    assert text.count(old) == 1
    book.module.write_text(text.replace(old, new))

    assert book.tangle("--stitch") == 0
    said = "wrote docs/fruit/apple.md\nwrote attention_book/apple.py\n"
    assert capsys.readouterr().out.endswith(said)
    assert book.tangle("--check") == 0
    fenced = old.replace("return n\n\n\n", "return n\n```\n\n")
    fenced_new = new.replace("# the end\n\n\n", "# the end\n```\n\n")
    expected = CHAPTER.replace(fenced, fenced_new)
    assert expected != CHAPTER
    assert book.chapter.read_text() == expected


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        # A new function between two blocks belongs to either.
        (
            "def seeds(n):",
            "def stalk():\n    pass\n\n\ndef seeds(n):",
            "15: cannot tell which block owns this edit, that of line 13 or 22",
        ),
        # A block's only function is gone.
        (
            "\n\n\ndef seeds(n):\n    return math.floor(n)\n",
            "\n",
            "1: this edit cannot be carried back; make it in the chapter",
        ),
        # A name twice would be no chapter.
        (
            "def seeds(n):",
            "def core(n):",
            "1: this edit would break the chapter: docs/fruit/apple.md:",
        ),
    ],
)
def test_stitch_refuses_what_it_cannot_place(
    book: Book,
    capsys: pytest.CaptureFixture[str],
    old: str,
    new: str,
    says: str,
) -> None:
    book.write(CHAPTER)
    book.tangle()
    edited = book.module.read_text().replace(old, new)
    assert edited != book.module.read_text()
    book.module.write_text(edited)

    assert book.tangle("--stitch") == 1
    message = capsys.readouterr().err
    assert message.startswith(f"attention_book/apple.py:{says}")
    assert book.module.read_text() == edited
    assert book.chapter.read_text() == CHAPTER


def test_stitch_refuses_when_both_changed(
    book: Book, capsys: pytest.CaptureFixture[str]
) -> None:
    book.write(CHAPTER)
    book.tangle()
    book.module.write_text(book.module.read_text().replace("n - 1", "n - 3"))
    changed = CHAPTER.replace("math.floor", "math.ceil")
    book.write(changed)
    assert book.tangle("--stitch") == 1
    assert "both this file and docs/fruit" in capsys.readouterr().err
    assert book.chapter.read_text() == changed


def test_round_trip_in_the_real_book(tmp_path: Path) -> None:
    ignored = shutil.ignore_patterns("figures", "assets", "labs")
    shutil.copytree(ROOT / "docs", tmp_path / "docs", ignore=ignored)
    shutil.copytree(ROOT / PACKAGE, tmp_path / PACKAGE)
    shutil.copy(ROOT / "mkdocs.yml", tmp_path)
    file = f"{PACKAGE}/attention/functional.py"
    (owner,) = (c.path for c in read_all() if file in c.modules)
    module = tmp_path / PACKAGE / "attention/functional.py"
    old = "return positions < lengths"
    new = "return lengths > positions"
    module.write_text(module.read_text("utf-8").replace(old, new), "utf-8")

    assert main(["--stitch"], tmp_path) == 0
    for path in sorted((ROOT / "docs").glob("*/*.md")):
        expected = path.read_text("utf-8")
        if path.relative_to(ROOT) == owner:
            assert expected.count(old) == 1
            expected = expected.replace(old, new)
        assert (tmp_path / path.relative_to(ROOT)).read_text() == expected


def test_a_syntax_error_is_named_where_it_stands(
    book: Book, capsys: pytest.CaptureFixture[str]
) -> None:
    book.write(CHAPTER)
    book.tangle()
    book.module.write_text(book.module.read_text().replace("n - 1", "n - ("))
    assert book.tangle("--stitch") == 1
    assert "attention_book/apple.py:8: '(' was never closed" in (
        capsys.readouterr().err
    )
    assert book.chapter.read_text() == CHAPTER


def test_a_stitch_killed_half_way_can_be_done_again(book: Book) -> None:
    book.write(CHAPTER)
    book.tangle()
    edited = book.module.read_text().replace("n - 1", "n - 3")
    book.module.write_text(edited)
    book.write(CHAPTER.replace("n - 1", "n - 3"))  # written, and then the end
    assert book.tangle("--stitch") == 0
    assert book.tangle("--check") == 0


def test_stitch_leaves_the_other_blocks_as_they_are(book: Book) -> None:
    padded = CHAPTER.replace("import math", "\nimport math").replace(
        "RED = 1\n", "RED = 1\n\n"
    )
    book.write(padded)
    book.tangle()
    book.module.write_text(book.module.read_text().replace("n - 1", "n - 3"))
    assert book.tangle("--stitch") == 0
    assert book.chapter.read_text() == padded.replace("n - 1", "n - 3")


def test_a_write_that_fails_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "file"
    path.write_text("old")

    def fail(self: Path, target: Path) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(OSError, match="no space"):
        write(path, "new")
    assert path.read_text() == "old"


def test_a_module_that_is_not_utf8_is_named(
    book: Book, capsys: pytest.CaptureFixture[str]
) -> None:
    book.write(CHAPTER)
    book.tangle()
    book.module.write_bytes(b"x = '\xff'\n")
    assert book.tangle("--stitch") == 1
    assert (
        "attention_book/apple.py:1: save as UTF-8" in capsys.readouterr().err
    )


FOLDER = """# 苹果 | Apple

```python title="attention_book/apple/core.py"
SEEDS = 5
```

```python title="attention_book/apple/skin.py"
from attention_book.apple.core import SEEDS


def peel(n):
    return n - SEEDS
```

```python title="attention_book/apple/core.py"
def count(n):
    return n + SEEDS
```
"""


def test_edits_in_two_modules_of_a_folder_are_carried_back(book: Book) -> None:
    book.write(FOLDER)
    book.tangle()
    folder = book.root / "attention_book/apple"
    core = (folder / "core.py").read_text()
    assert core.endswith(
        "SEEDS = 5\n\n\ndef count(n):\n    return n + SEEDS\n"
    )
    for name, old, new in (
        ("core", "n + SEEDS", "n * SEEDS"),
        ("skin", "n - SEEDS", "n // SEEDS"),
    ):
        path = folder / f"{name}.py"
        path.write_text(path.read_text().replace(old, new))
    assert book.tangle("--check") == 1
    assert book.tangle() == 1  # it would lose the edits
    assert book.tangle("--stitch") == 0
    text = book.chapter.read_text()
    assert "n * SEEDS" in text
    assert "n // SEEDS" in text
    assert book.tangle("--check") == 0
