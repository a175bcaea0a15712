"""Run the notebooks of chapters and labs as readers do, away from the book.

python -m literate.notebooks KERNEL SDIST [NAME …]    all, or those of some chapters and labs

KERNEL is the Jupyter kernel of an environment that has the package; a notebook installs there
what else it wants. It runs in an empty folder, and what it fetches from the book's repository
comes from SDIST. What a chapter's cells print must be what the chapter says.
"""

import os
import re
import subprocess
import sys
import tarfile
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError

from literate import ROOT, labs
from literate.blocks import LANGUAGES
from literate.chapter import Chapter, read, read_all
from literate.export import export
from literate.release import version
from literate.run import same
from literate.setup import SOURCE, install


MINUTES = 10  # for a cell, among them one that installs
COLORS = re.compile("\x1b\\[[\\d;]*m")
LIKE_READERS = {"LAB_MINUTES": "0.5"}  # who are in a hurry
OURS = "MATPLOTLIBRC"  # how the book draws, which literate.run sets


def pages() -> dict[str, Chapter]:
    """The chapters and labs, by name."""
    found = [page for page in read_all() if page.is_chapter]
    found += [read(path.relative_to(ROOT)) for path in sorted((ROOT / labs.LABS).glob("*.ipynb"))]
    return {page.name: page for page in found}


def offer(sdist: Path, folder: Path) -> dict[str, str]:
    """The environment in which git takes the book's repository out of the sdist."""
    with tarfile.open(sdist) as files:
        files.extractall(folder, filter="data")
    (tree,) = folder.iterdir()
    book = tree.rename(folder / SOURCE.rpartition("/")[2])
    author = ["-c", "user.name=book", "-c", "user.email=book@localhost"]
    commands = ["init --quiet", "add --all --force", "commit --quiet --message x"]
    for command in [*commands, f"tag v{version()}"]:
        subprocess.run(["git", *author, *command.split()], cwd=book, check=True)  # noqa: S607
    there = f"url.{folder.as_uri()}/.insteadOf"
    here = SOURCE.rpartition("/")[0] + "/"
    return {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": there, "GIT_CONFIG_VALUE_0": here}


def run(page: Chapter, edition: str, kernel: str, env: dict[str, str]) -> list[str]:
    """Run a notebook from top to bottom; what is wrong with it, a line for each cell."""
    notebook = nbformat.reads(export(page, edition), as_version=4)
    codes = [(n, cell) for n, cell in enumerate(notebook.cells) if cell.cell_type == "code"]
    wanted = [printed(cell) for _, cell in codes]
    client = NotebookClient(notebook, kernel_name=kernel, timeout=60 * MINUTES)
    with TemporaryDirectory() as folder:
        try:
            client.execute(cwd=folder, env=env)
        except (CellExecutionError, CellTimeoutError, DeadKernelError) as error:
            failed = max((n for n, cell in codes if cell.execution_count), default=0)
            return [f"cell {failed}: {COLORS.sub('', str(error)).strip()}"]
    is_lab = page.path.suffix == ".ipynb"  # which prints what is measured
    return [
        f"cell {n}: printed\n{printed(cell)}and the chapter has\n{want}"
        for (n, cell), want in zip(codes, wanted, strict=True)
        if not (is_lab or cell.source.startswith("%pip") or same(want, printed(cell)))
    ]


def wishes(page: Chapter) -> int:
    """How much a notebook installs: who wants little goes first, and finds little there."""
    return len(install([cell.code.body for cell in page.cells]))


def printed(cell: Any) -> str:
    return "".join(one.text for one in cell.outputs if one.get("name") == "stdout")


def main(argv: list[str]) -> int:
    kernel, sdist, *names = argv
    known = pages()
    if unknown := [name for name in names if name not in known]:
        raise SystemExit(f"there is no chapter or lab {unknown[0]}; there are {', '.join(known)}")
    is_wrong = False
    with TemporaryDirectory() as folder:
        env = dict(os.environ) | LIKE_READERS | offer(Path(sdist), Path(folder))
        env.pop(OURS)
        for name in names or sorted(known, key=lambda name: wishes(known[name])):
            for edition in LANGUAGES:
                start = time.monotonic()
                wrong = run(known[name], edition, kernel, env)
                took = f"{time.monotonic() - start:.0f} s"
                print(f"{name} {edition}: {took}{' FAILED' if wrong else ''}", flush=True)
                for line in wrong:
                    print(f"{known[name].path}, {edition}, {line}", flush=True)
                is_wrong |= bool(wrong)
    return int(is_wrong)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
