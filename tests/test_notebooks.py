"""Notebooks are run away from the book, and what is wrong with one is said."""

import os
import re
import subprocess
import tarfile
from pathlib import Path

import pytest

from attention_book import __version__
from literate.chapter import Chapter
from literate.notebooks import main, offer, run
from literate.setup import SOURCE


CELL = "# 苹果 | Apple\n\n```python\n{0}\n```\n\n```output\n{1}\n```\n"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("code", "output", "wrong"),
    [
        ("print(1 + 1)", "2", ""),
        ("import os\n\nprint(os.listdir())", "[]", ""),  # an empty folder
        ("print(1)", "2", "cell 2: printed\n1\nand the chapter has\n2\n"),
        ("import pear", "2", "cell 2: .*No module named 'pear'"),
    ],
)
def test_a_notebook_does_what_its_chapter_says(
    code: str, output: str, wrong: str
) -> None:
    page = Chapter(Path("docs/fruit/apple.md"), CELL.format(code, output))
    env = dict(os.environ) | {"PIP_NO_INDEX": "1"}
    found = "\n".join(run(page, "en", "python3", env))
    assert re.fullmatch(wrong, found, re.DOTALL)


@pytest.mark.slow
def test_the_repository_is_offered_under_its_address(tmp_path: Path) -> None:
    tree = tmp_path / "attention_book-1"
    (tree / "corpora").mkdir(parents=True)
    (tree / "corpora/apple.py").write_text("")
    (tree / ".gitignore").write_text("corpora\n")
    with tarfile.open(tmp_path / "sdist.tar.gz", "w:gz") as packed:
        packed.add(tree, tree.name)
    env = dict(os.environ) | offer(
        tmp_path / "sdist.tar.gz", tmp_path / "here"
    )
    clone = f"git clone -q --depth 1 -b v{__version__} {SOURCE} fetched"
    subprocess.run(clone.split(), cwd=tmp_path, env=env, check=True)
    assert (tmp_path / "fetched/corpora/apple.py").exists()


def test_an_unknown_name_is_refused() -> None:
    with pytest.raises(SystemExit, match=r"no chapter or lab pear; there are"):
        main(["python3", "sdist", "scoring", "pear"])
