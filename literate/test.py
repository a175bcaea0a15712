"""Run pytest over chapters and tests, with the options that the book needs.

python -m literate.test [--slow] [PATH or option of pytest …]

What is marked slow runs with --slow alone. There all shapes of the package are checked, and
else those of the layers and models, which is where a swapped axis would be.
"""

import os
import sys
from pathlib import Path

import pytest


OPTIONS = "-q -p literate.run --markdown-docs --ignore=tests/browser"
CHECKED = "--jaxtyping-packages={},beartype.beartype"
LAYERS = "attention_book.attention,attention_book.models"


def main(argv: list[str]) -> int:
    """As many processes as cores, one chapter or file in each at a time."""
    slow = "--slow" in argv
    argv = [word for word in argv if word != "--slow"]
    paths = [Path(word.split("::")[0]) for word in argv]
    found = [path for path in paths if path.exists()]
    spread = ["-n", "0"]
    if len(found) != 1 or not found[0].is_file():
        spread = ["-n", "auto", "--dist", "loadfile", "--no-loadscope-reorder"]
        os.environ.setdefault("OMP_NUM_THREADS", "1")
    checked = CHECKED.format("attention_book" if slow else LAYERS)
    chosen = ["-m", "slow" if slow else "not slow"]
    return pytest.main([*OPTIONS.split(), checked, *chosen, *spread, *argv])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
