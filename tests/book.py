"""A small book in a folder of its own, for the tests of the toolchain."""

import subprocess
import sys
from pathlib import Path

from literate.chapter import ROOT
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
