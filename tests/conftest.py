"""What several tests need: a small book of their own, and unchecked shapes."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from literate.chapter import ROOT
from literate.run import unchecked as without_checks
from literate.tangle import main as tangle


class Book:
    """A book in a folder of its own, with one chapter, `02-apple`."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.chapter = root / "docs/chapters/02-apple.md"
        self.module = root / "attention_book/apple.py"
        self.chapter.parent.mkdir(parents=True)

    def write(self, text: str) -> None:
        self.chapter.write_text(text, "utf-8")

    def tangle(self, *options: str) -> int:
        return tangle(list(options), self.root)

    def run(self, *options: str) -> subprocess.CompletedProcess[str]:
        """Run the chapter's blocks in a process of their own."""
        package = self.root / "attention_book/__init__.py"
        package.parent.mkdir(exist_ok=True)
        package.touch()
        (self.root / "pytest.ini").write_text("[pytest]\n")
        return subprocess.run(
            [
                sys.executable,
                "-m",
                "literate.test",
                str(self.chapter),
                *options,
            ],
            cwd=self.root,
            env={"PYTHONPATH": f"{self.root}:{ROOT}", "PATH": "/usr/bin:/bin"},
            capture_output=True,
            text=True,
            check=False,
        )


@pytest.fixture
def book(tmp_path: Path) -> Book:
    return Book(tmp_path)


@pytest.fixture
def unchecked() -> Iterator[None]:
    """Without the tests' checking of shapes, as a reader runs the package."""
    with without_checks():
        yield
