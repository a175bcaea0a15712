"""The labs: long experiments in notebooks that keep what they printed.

python -m literate.labs [NOTEBOOK …]    run them again, in place

A lab stands in both languages: a Markdown cell tagged `zh` is followed by its twin, tagged
`en`, and code cells belong to both. A cell that draws says in its metadata what there is to
see: `"alt": {"zh": …, "en": …}`, which stands below the figure. The notebook's metadata has the
Chinese of the words in its figures: `"labels": {"loss": "损失", …}`.

mkdocs-jupyter makes the page, out of what weave writes; here it becomes one like the others.
"""

import re
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import nbformat
from bs4 import BeautifulSoup, Tag

from literate import ROOT, blocks
from literate.blocks import Block, ChapterError, fenced


LABS = Path("docs/labs")
SOURCE = re.compile(r'^   "source": \[', re.MULTILINE)
ABOUT = "book"  # in the metadata of a woven notebook, what the page says of itself
HEADING = re.compile(r"(#+) (.*)")
TEX = re.compile(r"<(code|pre)\b.*?</\1>|(\$\$?)(.+?)\2", re.DOTALL)


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


def figures(path: Path, cell: Any, labels: Mapping[str, str] = {}) -> dict[str, str]:
    """The figures that a code cell drew, by the name of the file to keep each in.

    `labels` has what to write in the place of a word, see the notebook's metadata.
    """
    data = [output.get("data", {}) for output in cell.get("outputs", ())]
    drawn = [one["image/svg+xml"] for one in data if "image/svg+xml" in one]
    if labels:
        longest_first = sorted(map(re.escape, labels), key=len, reverse=True)
        word = re.compile(rf"(?<![\w-])({'|'.join(longest_first)})(?![\w-])(?=[^<>]*</text>)")
        drawn = [word.sub(lambda found: labels[found[0]], one) for one in drawn]
    return {f"{path.stem}/{cell.id}-{n}.svg": svg for n, svg in enumerate(drawn)}


def page(html: str, ids: Sequence[str], link: Callable[[str], str], permalink: str) -> str:
    """The page that mkdocs-jupyter made of a notebook, with the book's styles and not its own.

    Its half a megabyte of styles goes, and scripts that ask other hosts. Headings get the ids,
    which both editions share, links lead to pages, and formulas wait for KaTeX.

    Raises:
        ValueError: It is not a page of mkdocs-jupyter, or not in one language.
    """
    book = BeautifulSoup(html, "html.parser").select_one(".jupyter-wrapper > .jp-Notebook")
    if not book:
        raise ValueError("this page is not from mkdocs-jupyter; is it among the plugins?")
    heads = book.select(".jp-MarkdownOutput :is(h1, h2, h3, h4)")
    if len(heads) != len(ids):
        raise ValueError("not the headings of one language; see remove_cell_tags in mkdocs.yml")
    for head, id_ in zip(heads, ids, strict=True):
        head["id"] = id_
        mark = head.select_one(".anchor-link") or BeautifulSoup().new_tag("a")
        mark.attrs = {"class": "headerlink", "href": f"#{id_}", "title": permalink}
        mark.string = "#"
        head.append(mark)
    for anchor in book.select(".jp-MarkdownOutput a[href]:not(.headerlink)"):
        anchor["href"] = link(str(anchor["href"]))
    parts = book.select(".jp-MarkdownOutput, .highlight-ipynb, .jp-OutputArea-output")
    return "\n".join(['<div class="jp-Notebook">', *map(_part, parts), "</div>"])


def _part(part: Tag) -> str:
    """The text of a cell, its code, or one of its outputs, as it stands on other pages."""
    classes = part.get_attribute_list("class")
    if "jp-MarkdownOutput" in classes:
        return TEX.sub(_formula, part.decode_contents().strip("\n"))
    if figure := part.select_one("figure"):
        return str(figure)
    text = "".join(pre.decode_contents() for pre in part.select("pre")).strip("\n")
    is_code = "highlight-ipynb" in classes
    kind = " ".join(classes) if is_code else "jp-OutputArea-output output no-copy highlight"
    return f'<div class="{kind}"><pre><code>{text}\n</code></pre></div>'


def _formula(found: re.Match[str]) -> str:
    """A formula as Python-Markdown marks it on other pages; or code as it stands."""
    if not found[2]:
        return found[0]
    tag, start, end = ("div", "[", "]") if found[2] == "$$" else ("span", "(", ")")
    return rf'<{tag} class="arithmatex">\{start}{found[3]}\{end}</{tag}>'


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
