"""The labs: long experiments in notebooks that keep what they printed.

python -m literate.labs [NOTEBOOK …]    run them again, in place

A lab stands in both languages: each Markdown cell is tagged `zh` or `en`, twins follow
one another, and code cells belong to both. A cell that draws says in its metadata what
there is to see: `"alt": {"zh": …, "en": …}`.
"""

import re
import sys
from collections.abc import Callable, Iterator
from html import escape
from pathlib import Path
from typing import Any

import nbformat
from bs4 import BeautifulSoup, Tag

from literate.chapter import ROOT


LABS = Path("docs/labs")
FORMULA = re.compile(r"\$([^$\n]+)\$")
Heading = tuple[int, str, str]  # level, text, id


def read(path: Path) -> Any:
    """Read a notebook as nbformat has it."""
    return nbformat.read(path, as_version=4)


def run(path: Path) -> None:
    """Execute a notebook from top to bottom and keep what it prints."""
    from nbclient import NotebookClient  # slow to import

    notebook = read(path)
    NotebookClient(notebook, timeout=None).execute(cwd=str(path.parent))
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)  # at what o'clock it ran
        if cell.cell_type == "code":
            cell.outputs = _joined(cell.outputs)
    nbformat.write(notebook, path)


def _joined(outputs: list[Any]) -> list[Any]:
    """What was printed in one piece, however many it came in."""
    joined: list[Any] = []
    for output in outputs:
        last = joined[-1] if joined else {}
        if output.output_type == "stream" and output.get("name") == last.get("name"):
            last["text"] += output.text
        else:
            joined.append(output)
    return joined


def in_edition(notebook: Any, edition: str) -> Any:
    """The notebook without the cells of the other language."""
    other = {"zh": "en", "en": "zh"}[edition]
    kept = nbformat.from_dict(notebook)
    kept.cells = [cell for cell in kept.cells if other not in cell.metadata.get("tags", ())]
    return kept


def headings(notebook: Any, edition: str) -> list[Heading]:
    """Each heading of an edition; both editions have the same ids, made from the English."""

    def found(language: str) -> list[tuple[int, str]]:
        cells = in_edition(notebook, language).cells
        text = "\n\n".join(cell.source for cell in cells if cell.cell_type == "markdown")
        lines = re.findall(r"^(#{1,3}) (.+)$", text, re.MULTILINE)
        return [(len(marks), line.strip()) for marks, line in lines]

    return [
        (level, text, re.sub(r"\W+", "-", english.lower()).strip("-"))
        for (level, text), (_, english) in zip(found(edition), found("en"), strict=True)
    ]


def page(html: str, notebook: Any, edition: str, link: Callable[[str], str], permalink: str) -> str:
    """Make a page of the book from what mkdocs-jupyter made of a notebook.

    Its half a megabyte of styles goes, with scripts that ask other hosts; headings get
    ids, figures a text for those who can't see them, and links lead to pages.
    """
    soup = BeautifulSoup(html, "html.parser")
    alts = (
        escape(cell.metadata["alt"][edition])
        for cell in notebook.cells
        for output in cell.get("outputs", ())
        if "image/svg+xml" in output.get("data", ())
    )
    heads = iter(headings(notebook, edition))
    parts = soup.select(".jp-MarkdownOutput, .highlight-ipynb pre, .jp-OutputArea-output")
    return "\n".join(_part(part, heads, alts, link, permalink) for part in parts)


def _part(
    part: Tag,
    heads: Iterator[Heading],
    alts: Iterator[str],
    link: Callable[[str], str],
    permalink: str,
) -> str:
    classes = part.get_attribute_list("class")
    if part.name == "pre":
        code = part.decode_contents().removeprefix("<span></span>")
        return f'<div class="language-python highlight"><pre><code>{code}</code></pre></div>'
    if "jp-MarkdownOutput" not in classes:
        if image := part.select_one("img"):
            return f'<figure><img alt="{next(alts)}" src="{image["src"]}"></figure>'
        printed = "".join(pre.decode_contents() for pre in part.select("pre")).strip("\n")
        return f'<div class="output no-copy highlight"><pre><code>{printed}\n</code></pre></div>'
    for text in part.find_all(string=FORMULA):
        if not text.find_parent(["code", "pre"]):
            text.replace_with(*_formulas(str(text)))
    for mark in part.select(".anchor-link"):
        mark.decompose()
    for head in part.select("h1, h2, h3"):
        head["id"] = next(heads)[2]
        mark = BeautifulSoup().new_tag("a", href=f"#{head['id']}", title=permalink, string="#")
        mark["class"] = "headerlink"
        head.append(mark)
    for anchor in part.select("a[href$='.md'], a[href*='.md#']"):
        anchor["href"] = link(str(anchor["href"]))
    return part.decode_contents()


def _formulas(text: str) -> Iterator[str | Tag]:
    """The text, with each formula as the chapters' pages mark it, for KaTeX."""
    for number, piece in enumerate(FORMULA.split(text)):
        mark: str | Tag = piece
        if number % 2:
            mark = BeautifulSoup().new_tag("span", attrs={"class": "arithmatex"})
            mark.string = rf"\({piece}\)"
        yield mark


def main(argv: list[str]) -> None:
    for path in map(Path, argv) if argv else sorted((ROOT / LABS).glob("*.ipynb")):
        run(path)


if __name__ == "__main__":
    main(sys.argv[1:])
