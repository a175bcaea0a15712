"""A small book in a folder of its own, for the tests of the toolchain."""

import gc
import multiprocessing
import os
import subprocess
import sys
from pathlib import Path

from literate.chapter import ROOT
from literate.tangle import main as tangle


# Processes are forked from one that has imported what takes long.
FORKS = "forkserver" in multiprocessing.get_all_start_methods()
PROCESSES = multiprocessing.get_context("forkserver" if FORKS else "spawn")
PROCESSES.set_forkserver_preload(
    ["literate.exercises", "literate.tangle", "pytest", "torch"]
)


def be_literate_test(root: Path, arguments: list[str]) -> None:
    """Be `python -m literate.test`, begun in a folder; write what it says."""
    from literate.test import main as test

    early = {"attention_book", "jaxtyping", "literate.run", "matplotlib"}
    assert not early & sys.modules.keys()  # to be imported as it begins
    gc.freeze()
    for number, name in (1, "stdout"), (2, "stderr"):
        os.dup2(os.open(root / name, os.O_CREAT | os.O_WRONLY), number)
    os.environ.clear()
    os.environ |= {"PYTHONPATH": f"{root}:{ROOT}", "PATH": "/usr/bin:/bin"}
    os.chdir(root)
    sys.path.insert(0, str(root))
    sys.exit(test(arguments))


# The preface is chapter 0, so that the apples are chapter 1.
NAV = """nav:
  - index.md
  - preface.md
  - fruit/index.md
  - fruit/apple.md
"""
PREFACE = "# 序 | Preface\n"


class Book:
    """A book in a folder of its own, with one chapter, `apple`, its first."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.chapter = root / "docs/fruit/apple.md"
        self.module = root / "attention_book/apple.py"
        self.chapter.parent.mkdir(parents=True)
        (root / "mkdocs.yml").write_text(NAV)
        (root / "docs/preface.md").write_text(PREFACE)

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
        process = PROCESSES.Process(
            target=be_literate_test,
            args=(self.root, [str(self.chapter), *options]),
        )
        process.start()
        process.join()
        said = [self.root / name for name in ("stdout", "stderr")]
        texts = [path.read_text("utf-8") for path in said]
        for path in said:
            path.unlink()
        return subprocess.CompletedProcess(
            ["literate.test"], process.exitcode or 0, *texts
        )
