"""Export a chapter as a notebook in one language."""

import re
from typing import Any

import nbformat
from nbformat import v4

from literate.blocks import Block, heading, pick
from literate.chapter import Chapter, Twin


# Where a line break between two of these would show as a space.
WIDE = r"[　-〿㐀-鿿豈-﫿＀-￯“”‘’…—]"
ABOUT = (
    "由《注意力之书》的一章生成。运行之前先装好："
    "`pip install attention-book matplotlib`"
    " | "
    "Made from a chapter of the Attention Book. Before you run it: "
    "`pip install attention-book matplotlib`"
)


def join_lines(text: str) -> str:
    """Join lines broken between wide characters, which need no space."""
    return re.sub(rf"(?<={WIDE})\n(?={WIDE})", "", text)


def export(chapter: Chapter, edition: str) -> str:
    """The notebook: prose in one language, the code, and what it prints."""
    outputs = {cell.code: cell.output for cell in chapter.cells}
    cells: list[Any] = []
    prose = [f"*{pick(ABOUT, edition)}*"]

    def flush() -> None:
        if prose:
            text = "\n\n".join(prose)
            cells.append(v4.new_markdown_cell(text, id=f"cell-{len(cells)}"))
            prose.clear()

    for part in chapter.parts:
        if isinstance(part, Block) and part in outputs:
            flush()
            code = part.body.strip("\n")
            cells.append(v4.new_code_cell(code, id=f"cell-{len(cells)}"))
            if printed := outputs[part]:
                stream = v4.new_output("stream", name="stdout", text=printed.body)
                cells[-1].outputs = [stream]
        elif text := _prose(part, edition):
            prose.append(text)
    flush()
    kernel = {"display_name": "Python 3", "name": "python3"}
    about = {"kernelspec": kernel, "language_info": {"name": "python"}}
    book = v4.new_notebook(cells=cells, metadata=about)
    nbformat.validate(book)
    return str(nbformat.writes(book)) + "\n"


def _prose(part: Block | Twin, edition: str) -> str:
    if isinstance(part, Twin):
        text = join_lines(part.zh.text) if edition == "zh" else part.en.text
    elif part.kind == "heading":
        zh, en, _ = heading(part)
        level = part.text.partition(" ")[0]
        text = f"{level} {zh if edition == 'zh' else en}"
    elif part.kind == "open":
        text = f"**{pick(part.text.partition(' | ')[2], edition)}**"
    elif part.kind in ("math", "html", "rule") or part.kind == "code":
        text = "" if part.info == "output" else part.text
    else:
        return ""  # a figure is drawn by the cell above it
    if isinstance(part, Block) and part.kind in ("code", "math", "html"):
        return text
    # Code and formulas stand as they are; links lead where a notebook can.
    link = r"\[((?:`[^`]*`|[^]`])*)\](\([^)]*\)|\[[\w.]*\])"
    return re.sub(link + r"|(`+)(?:.|\n)*?\3|\$[^$]+\$", _relink, text)


def _relink(found: re.Match[str]) -> str:
    if found[1] is None or found[2].startswith("(http"):
        return found[0]
    chapter = re.match(r"\((\d\d-[\w-]+)\.md", found[2])
    return f"[{found[1]}]({chapter[1]}.ipynb)" if chapter else found[1]
