"""Export a chapter or a lab as a notebook in one language."""

import re
from typing import Any

import nbformat
from nbformat import v4

from literate.blocks import Block, heading, pick
from literate.chapter import Chapter, Twin


# A link; or code or a formula, which stand as they are.
LINK = re.compile(
    r"\[((?:`[^`]*`|[^]`])*)\](\([^)]*\)|\[[\w.]*\])" + r"|(`+)(?:.|\n)*?\3|\$[^$]+\$"
)
INSTALL = "`pip install attention-book matplotlib`"
ABOUT = f"由《注意力之书》的一章生成。运行之前先装好：{INSTALL} | Made from a chapter of the Attention Book. Before you run it: {INSTALL}"


def export(page: Chapter, edition: str) -> str:
    """The notebook: prose in one language, the code, and what it prints."""
    book = (_of_lab if page.path.suffix == ".ipynb" else _of_chapter)(page, edition)
    nbformat.validate(book)
    return str(nbformat.writes(book)) + "\n"


def _of_lab(lab: Chapter, edition: str) -> Any:
    """A lab's own notebook, without the cells of the other language."""
    book = nbformat.reads(lab.text, as_version=4)
    book.cells = [cell for cell in book.cells if cell.metadata.get("tags", [edition]) == [edition]]
    for cell in book.cells:
        if cell.cell_type == "markdown":
            cell.source = LINK.sub(_relink, cell.source)
    return book


def _of_chapter(chapter: Chapter, edition: str) -> Any:
    printed = {cell.code: cell.output for cell in chapter.cells}
    cells = [v4.new_markdown_cell(f"*{pick(ABOUT, edition)}*")]
    for part in chapter.parts:
        if isinstance(part, Block) and part in printed:
            cells.append(v4.new_code_cell(part.body.strip("\n"), metadata=_metadata(part)))
            if output := printed[part]:
                cells[-1].outputs = [v4.new_output("stream", name="stdout", text=output.body)]
        elif text := _prose(part, edition):
            if cells[-1].cell_type == "code":
                cells.append(v4.new_markdown_cell(text))
            else:
                cells[-1].source += f"\n\n{text}"
    for number, cell in enumerate(cells):
        cell.id = f"cell-{number}"
    kernel = {"display_name": "Python 3", "name": "python3"}
    about = {"kernelspec": kernel, "language_info": {"name": "python"}}
    return v4.new_notebook(cells=cells, metadata=about)


def _metadata(code: Block) -> dict[str, Any]:
    """Fold checks and answers; a check may fail, and the notebook goes on."""
    tags = {"tags": ["raises-exception"]} if code.role == "check" else {}
    fold = {"jupyter": {"source_hidden": True}} if code.role in ("check", "answer") else {}
    return {**tags, **fold}


def _prose(part: Block | Twin, edition: str) -> str:
    if isinstance(part, Twin):
        text = part.zh.text if edition == "zh" else part.en.text
    elif part.kind == "heading":
        text = f"{part.text.partition(' ')[0]} {heading(part)[edition == 'en']}"
    elif part.kind == "open":
        text = f"**{pick(part.text.partition(' | ')[2], edition)}**"
    elif part.kind in ("fence", "math", "html", "hr"):
        return "" if part.info == "output" else part.text
    else:
        return ""  # a figure is drawn by the cell above it
    return LINK.sub(_relink, text)


def _relink(found: re.Match[str]) -> str:
    """Lead a link where a notebook can: to another notebook or to another host."""
    if found[1] is None or found[2].startswith("(http"):
        return found[0]
    page = re.match(r"\((?:\.\./(?:chapters|labs)/)?([\w-]+)\.(?:md|ipynb)", found[2])
    return f"[{found[1]}]({page[1]}.ipynb)" if page else found[1]
