"""The labs: long experiments in notebooks that keep what they printed.

python -m literate.labs [NOTEBOOK …]    run them again, in place

A lab stands in both languages: a Markdown cell tagged `zh` is followed by its twin, tagged
`en`, and code cells belong to both. A cell that draws says in its metadata what there is to
see: `"alt": {"zh": …, "en": …}`.
"""

import re
import sys
from pathlib import Path
from typing import Any

import nbformat

from literate import ROOT, blocks
from literate.blocks import Block, ChapterError, fenced


LABS = Path("docs/labs")
SOURCE = re.compile(r'^   "source": \[', re.MULTILINE)
HEADING = re.compile(r"(#+) (.*)")


def split(path: Path, text: str) -> list[Block]:
    """The blocks of a notebook, as a chapter has them, each on its line of the notebook's file."""
    starts = (text.count("\n", 0, found.end()) + 1 for found in SOURCE.finditer(text))
    cells = iter(zip(nbformat.reads(text, as_version=4).cells, starts, strict=True))
    found: list[Block] = []
    for cell, line in cells:
        if cell.cell_type == "code":
            found += blocks.split(path, fenced("python", cell.source), line)
            printed = "".join(output.get("text", "") for output in cell.outputs)
            found += blocks.split(path, fenced("output", printed), line) if printed else []
            for target in figures(path, cell):
                alt = " | ".join(cell.metadata.get("alt", {}).get(tag, "") for tag in ("zh", "en"))
                found += blocks.split(path, f"![{alt}]({target})", line)
            continue
        twin, below = next(cells, (cell, line))
        if [c.metadata.get("tags") for c in (cell, twin)] != [["zh"], ["en"]]:
            raise ChapterError(path, line, "a cell tagged zh, then its twin tagged en; tag them so")
        zh, en = HEADING.match(cell.source), HEADING.match(twin.source)
        if (zh and zh[1]) != (en and en[1]):
            raise ChapterError(path, line, "begin this cell and its twin with like headings")
        if zh and en:
            found += blocks.split(path, f"{zh[0]} | {en[2]}", line + 1)
        for source, head, start in ((cell.source, zh, line), (twin.source, en, below)):
            found += blocks.split(path, source[head.end() if head else 0 :], start + 1)
    return found


def figures(path: Path, cell: Any) -> dict[str, str]:
    """The figures that a code cell drew, by the name of the file to keep each in."""
    data = [output.get("data", {}) for output in cell.get("outputs", ())]
    drawn = [one["image/svg+xml"] for one in data if "image/svg+xml" in one]
    return {f"{path.stem}/{cell.id}-{n}.svg": svg for n, svg in enumerate(drawn)}


def run(path: Path) -> None:
    """Execute a notebook from top to bottom and keep what it prints, each cell's in one piece."""
    from nbclient import NotebookClient  # slow to import

    notebook = nbformat.read(path, as_version=4)
    client = NotebookClient(notebook, timeout=None, record_timing=False, coalesce_streams=True)
    client.execute(cwd=str(path.parent))
    nbformat.write(notebook, path)


def main(argv: list[str]) -> None:
    for path in map(Path, argv) if argv else sorted((ROOT / LABS).glob("*.ipynb")):
        run(path)


if __name__ == "__main__":
    main(sys.argv[1:])
