"""Run pytest over chapters and tests, with the options that the book needs.

python -m literate.test [PATH or option of pytest …]
"""

import os
import sys
from pathlib import Path

import pytest


OPTIONS = "-q -p literate.run --markdown-docs --jaxtyping-packages=attention_book,beartype.beartype"


def main(argv: list[str]) -> int:
    """Two processes, one chapter or file in each at a time; shapes checked."""
    paths = [Path(word.split("::")[0]) for word in argv]
    found = [path for path in paths if path.exists()]
    spread = ["-n", "0"]
    if len(found) != 1 or not found[0].is_file():
        spread = ["-n", "2", "--dist", "loadfile", "--no-loadscope-reorder"]
        os.environ.setdefault("OMP_NUM_THREADS", "1")
    return pytest.main([*OPTIONS.split(), "--ignore=tests/browser", *spread, *argv])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
