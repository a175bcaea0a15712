"""Run pytest over chapters and tests, with the options that the book needs.

python -m literate.test [PATH or option of pytest …]
"""

import os
import sys
from pathlib import Path

import pytest


def main(argv: list[str]) -> int:
    """Two processes, one chapter or file in each at a time; shapes checked."""
    paths = [word for word in argv if not word.startswith("-")]
    alone = len(paths) == 1 and Path(paths[0].split("::")[0]).is_file()
    spread = ["-n", "0"] if alone else ["-n", "2", "--dist", "loadfile"]
    if not alone:
        os.environ.setdefault("OMP_NUM_THREADS", "1")
    return pytest.main(
        [
            "-q",
            "-p",
            "literate.run",
            "--markdown-docs",
            "--jaxtyping-packages=attention_book,beartype.beartype",
            "--ignore=tests/browser",
            "--ignore=tests/gpu",
            *spread,
            *argv,
        ]
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
