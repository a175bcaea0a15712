"""Export a chapter or a lab as a notebook in one language."""

import re
from base64 import b64encode
from html import escape
from typing import Any

import nbformat
from nbformat import v4

from literate.blocks import DIAGRAM, FIGURE, LIVE, RECORD, Block, heading, pick, split_label
from literate.chapter import Chapter, Twin
from literate.drawing import draw
from literate.records import caption, load, markdown
from literate.references import anchor, numbers, refer, tagged
from literate.setup import install, setup


# A link; or code or a formula, which stand as they are.
LINK = re.compile(
    r"\[((?:`[^`]*`|[^]`])*)\](\([^)]*\)|\[[\w.]*\])" + r"|(`+)(?:.|\n)*?\3|\$[^$]+\$"
)
LITERAL = re.compile(r'([bfru]*)"((?:\\.|[^"\\\n])*)"')
LITERALS = re.compile(rf"{LITERAL.pattern}(?:\s+{LITERAL.pattern})*")  # several are one text
DATA = 'src="data:image/svg+xml;base64,'  # a picture in a text is long: it has a cell of its own


def export(page: Chapter, edition: str) -> str:
    """The notebook: prose in one language, the code, and what it prints."""
    book = (_of_lab if page.path.suffix == ".ipynb" else _of_chapter)(page, edition)
    nbformat.validate(book)
    return str(nbformat.writes(book)) + "\n"


def _of_lab(lab: Chapter, edition: str) -> Any:
    """A lab's own notebook, without the cells of the other language, and a cell that installs."""
    book = nbformat.reads(lab.text, as_version=4)
    book.cells = [cell for cell in book.cells if cell.metadata.get("tags", [edition]) == [edition]]
    codes = [cell.source for cell in book.cells if cell.cell_type == "code"]
    book.cells.insert(1, v4.new_code_cell(install(codes), id="install"))
    for cell in book.cells:
        if cell.cell_type == "markdown":
            cell.source = LINK.sub(_relink, refer(cell.source, lab))
    return book


def _of_chapter(chapter: Chapter, edition: str) -> Any:
    printed = {cell.code: cell.output for cell in chapter.cells}
    codes = {b: b.body if b.title else localize(b.body, edition) for b in printed}
    title = next(block for block in chapter.blocks if block.kind == "heading")
    cells = [v4.new_markdown_cell(_prose(title, chapter, edition))]
    if codes:
        needs, sources = setup([*codes.values()], edition)
        cells[0].source += f"\n\n*{needs}*"
        cells += map(v4.new_code_cell, sources)
    for part in chapter.parts:
        if part is title:
            continue
        if isinstance(part, Block) and part in printed:
            cells.append(v4.new_code_cell(codes[part].strip("\n"), metadata=_metadata(part)))
            if output := printed[part]:
                cells[-1].outputs = [v4.new_output("stream", name="stdout", text=output.body)]
        elif text := _prose(part, chapter, edition):
            if cells[-1].cell_type == "code" or DATA in cells[-1].source + text:
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


def _prose(part: Block | Twin, page: Chapter, edition: str) -> str:
    if isinstance(part, Twin):
        text = part.zh.text if edition == "zh" else part.en.text
    elif part.kind == "heading":
        text = f"{part.text.partition(' ')[0]} {heading(part)[edition == 'en']}"
    elif part.kind == "open":
        text = f"**{pick(part.text.partition(' | ')[2], edition)}**"
    elif found := RECORD.fullmatch(part.info):
        record = load(found[1])
        table = record["tables"][found[2]]
        label = _label("表 | Table", part, page, edition)
        above = f"*{label}{pick(caption(found[3], record, table), edition)}*"
        shown = markdown(table, lambda cell: pick(cell, edition).replace("|", r"\|"))
        text = f"{above}\n\n{shown}"
    elif part.kind in ("fence", "math", "html", "hr"):
        is_left_out = part.info == "output" or LIVE.fullmatch(part.info)
        return "" if is_left_out else tagged(part.text, page)
    elif part.kind == "figure":
        text = _figure(part, page, edition)
    else:
        return ""
    return LINK.sub(_relink, refer(text, page))


def _figure(block: Block, page: Chapter, edition: str) -> str:
    """A figure's caption, and above it a diagram; any other is drawn by the cell above it.

    A diagram stands in the text itself, as JupyterLab shows no SVG that is an attachment.
    """
    alternative, path, caption = FIGURE.findall(block.text)[0]
    label = _label("图 | Figure", block, page, edition)
    below = f"*{label}{pick(caption, edition)}*" if caption else ""
    if not (diagram := DIAGRAM.fullmatch(path)):
        return below
    alternative = pick(alternative, edition)
    drawn = b64encode(draw(diagram[1], edition, alternative, alone=True).encode()).decode()
    return f'<img alt="{escape(alternative)}" {DATA}{drawn}">\n\n{below}'


def _label(kind: str, block: Block, page: Chapter, edition: str) -> str:
    """What stands before a caption: the kind and the number, or nothing."""
    number = numbers(page).get(anchor(block), "")
    return f"{pick(kind, edition)} {number} " if number else ""


def localize(code: str, edition: str) -> str:
    """Python with the edition's side of every `"中文 | English"` in it."""

    def one_side(found: re.Match[str]) -> str:
        prefixes, texts = zip(*LITERAL.findall(found[0]), strict=True)
        text = "".join(texts)
        ours = split_label(text, edition)
        return found[0] if ours == text else f'{max(prefixes, key=len)}"{ours}"'

    return LITERALS.sub(one_side, code)


def _relink(found: re.Match[str]) -> str:
    """Lead a link where a notebook can: to another notebook or to another host."""
    if found[1] is None or found[2].startswith("(http"):
        return found[0]
    page = re.match(r"\((?:[\w.]+/)*(?!index|glossary)([\w-]+)\.(?:md|ipynb)", found[2])
    page = None if re.search("(source|live)/", found[2]) else page  # which have no notebooks
    return f"[{found[1]}]({page[1]}.ipynb)" if page else found[1]
