"""Read a chapter: its blocks, its code cells, and the pairing of its languages.

A chapter is Markdown. Blank lines divide it into blocks. Prose stands twice, a
run of Chinese blocks and then the same run in English; code, formulas, figures
and output stand once and belong to both.
"""

import re
import symtable
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby, pairwise
from pathlib import Path

from markdown_it import MarkdownIt
from markdown_it.token import Token
from mdit_py_plugins.dollarmath import dollarmath_plugin
from mdit_py_plugins.front_matter import front_matter_plugin

ROOT = Path(__file__).resolve().parent.parent
CHAPTERS = Path("docs/chapters")
PACKAGE = "attention_book"

PARSER = MarkdownIt("commonmark").enable("table").use(front_matter_plugin).use(dollarmath_plugin)
KINDS = {
    "blockquote_open": "quote",
    "bullet_list_open": "list",
    "fence": "code",
    "front_matter": "meta",
    "heading_open": "heading",
    "hr": "rule",
    "html_block": "html",
    "math_block": "math",
    "math_block_label": "math",
    "ordered_list_open": "list",
    "table_open": "table",
}
ADMONITIONS = "note tip warning danger details"
PYTHON = re.compile(r'python( title="[^"]+")?')
FLUSH = "begin it at the left margin, inside `/// note | 提示 | Note` … `///` if need be"
FIGURE = re.compile(r'!\[([^\]]*)\]\(([^)\s]+)(?: "([^"]*)")?\)')
DRAWN = re.compile(r"plt\.figure\(\s*[\"']([^\"']+)[\"']")
HAN = re.compile(r"[㐀-鿿豈-﫿]")
WORD = re.compile(r"[A-Za-z]+(?:['’-][A-Za-z]+)*")
# What says nothing about the language of a block: code, formulas, targets, tags.
NOT_PROSE = re.compile(
    r"`+[^`]*`+|\$[^$]+\$|\]\([^)]*\)|\]\[[^\]]*\]|<[^>]+>|https?://\S+|\{[^}]*\}"
)


class ChapterError(ValueError):
    """Something in a chapter is wrong; the message begins with file:line."""

    def __init__(self, path: Path, line: int, message: str) -> None:
        super().__init__(f"{path.as_posix()}:{line}: {message}")


@dataclass(frozen=True)
class Block:
    """One block: what it is, its source text and the line it begins on."""

    kind: str
    text: str
    line: int
    info: str = ""

    @property
    def body(self) -> str:
        """The lines between the fences of a code block."""
        return "".join(line + "\n" for line in self.text.split("\n")[1:-1])

    @property
    def title(self) -> str:
        """The `title="…"` of a code block, or nothing."""
        found = re.search(r'title="([^"]*)"', self.info)
        return found[1] if found else ""

    @property
    def language(self) -> str:
        """`zh`, `en`, or nothing where the block stands for both."""
        if self.kind not in ("paragraph", "list", "table", "quote"):
            return ""
        prose = NOT_PROSE.sub(" ", self.text)
        han, words = len(HAN.findall(prose)), len(WORD.findall(prose))
        return "zh" if han > words else "en" if words else ""

    @property
    def shape(self) -> dict[str, int]:
        """How many items, rows and paragraphs it holds: the same as its twin."""
        inside = [token.type for token in PARSER.parse(self.text)]
        parts = {"list_item": "items", "tr": "rows", "paragraph": "paragraphs"}
        return {name: inside.count(f"{part}_open") for part, name in parts.items()}


@dataclass(frozen=True)
class Twin:
    """A Chinese block and the English block that says the same."""

    zh: Block
    en: Block


@dataclass(frozen=True)
class Cell:
    """A Python block and the output that the chapter says it prints."""

    code: Block
    output: Block | None


@dataclass(frozen=True)
class Chapter:
    """A chapter's text, checked, with what can be asked of it."""

    path: Path
    text: str

    @property
    def name(self) -> str:
        """The file's name without number and ending: `02-multi-head` is `multi-head`."""
        return re.sub(r"^\d+-", "", self.path.stem)

    @property
    def module(self) -> str:
        """The path of the module this chapter may define."""
        name = "__init__" if self.name == "preface" else self.name.replace("-", "_")
        return f"{PACKAGE}/{name}.py"

    @cached_property
    def blocks(self) -> list[Block]:
        return list(_split(self.path, self.text))

    @cached_property
    def parts(self) -> list[Block | Twin]:
        """The blocks in order, prose paired into twins."""
        return list(_pair(self.path, self.blocks))

    @cached_property
    def cells(self) -> list[Cell]:
        """The Python blocks, each with the output that follows it."""
        cells: list[Cell] = []
        before: Block | None = None
        for block in self.blocks:
            if block.info.startswith("python"):
                cells.append(Cell(block, None))
            elif block.info == "output":
                if before is None or before is not cells[-1].code or before.title:
                    raise self.error(block, "output that follows no untitled Python block")
                cells[-1] = Cell(before, block)
            before = block if block.info.startswith("python") else None
        return cells

    @cached_property
    def titled(self) -> list[Block]:
        """The blocks that make up the chapter's module."""
        titled = [cell.code for cell in self.cells if cell.code.title]
        seen: dict[str, int] = {}
        for block in titled:
            if not re.fullmatch(rf"{PACKAGE}/\w+\.py", block.title):
                raise self.error(
                    block,
                    f'title="{block.title}" is outside {PACKAGE}/; write title="{self.module}"',
                )
            if block.title != self.module:
                raise self.error(
                    block,
                    f'title="{block.title}" in the chapter of {self.module}; a module '
                    "bears its chapter's name: move the block or rename the title",
                )
            for name in names(block.body, self.path, block.line):
                if name in seen:
                    raise self.error(
                        block,
                        f"{name} is defined twice, first on line {seen[name]}; leave the "
                        "naive version in a block without title",
                    )
                seen[name] = block.line
        return titled

    def check(self) -> "Chapter":
        """Raise ChapterError for the first thing that is wrong."""
        _ = self.parts, self.cells, self.titled
        anchors: dict[str, int] = {}
        for block in self.blocks:
            if block.kind == "heading":
                _, _, anchor = heading(block)
                if not anchor or anchor in anchors:
                    before = f"that of line {anchors[anchor]}" if anchor else "empty"
                    raise self.error(block, f"this heading's id is {before}; add {{#an-id}}")
                anchors[anchor] = block.line
        shown = {path: block for block, path in self.figures()}
        drawn = {
            f"figures/{self.name}/{name}.svg": cell.code
            for cell in self.cells
            for name in DRAWN.findall(cell.code.body)
        }
        for path, block in shown.items():
            if path not in drawn:
                name = Path(path).stem
                raise self.error(
                    block,
                    f'no block draws {path}; draw it in a cell with plt.figure("{name}")',
                )
        for path, block in drawn.items():
            if path not in shown:
                raise self.error(block, f"{path} is drawn and never shown; add ![…]({path})")
        return self

    def figures(self) -> Iterator[tuple[Block, str]]:
        """Each figure block that shows something drawn by a chapter, and its path."""
        for block in self.blocks:
            found = FIGURE.fullmatch(block.text) if block.kind == "figure" else None
            if found and found[2].startswith("figures/"):
                yield block, found[2]

    def error(self, block: Block, message: str) -> ChapterError:
        return ChapterError(self.path, block.line, message)


def read(path: Path, root: Path = ROOT) -> Chapter:
    """Read the file at root/path."""
    try:
        text = (root / path).read_bytes().decode()
    except UnicodeDecodeError as error:
        line = (root / path).read_bytes()[: error.start].count(b"\n") + 1
        raise ChapterError(path, line, "not UTF-8; save the file as UTF-8") from None
    if "\r" in text:
        raise ChapterError(
            path,
            text.split("\r")[0].count("\n") + 1,
            "ends its line with CR; save the file with LF alone",
        )
    if text.startswith("\ufeff"):
        raise ChapterError(path, 1, "begins with a byte order mark; save the file without one")
    return Chapter(path, text)


def read_all(root: Path = ROOT) -> list[Chapter]:
    """Read and check every chapter, in the order of their numbers."""
    paths = sorted((root / CHAPTERS).glob("[0-9][0-9]-*.md"))
    chapters = [read(path.relative_to(root), root) for path in paths]
    owners: dict[str, Chapter] = {}
    for chapter in chapters:
        for cell in chapter.cells:
            title = cell.code.title
            owner = owners.setdefault(title, chapter) if title else chapter
            if owner is not chapter:
                raise chapter.error(
                    cell.code,
                    f"{title} belongs to {owner.path.as_posix()} already; a module has one chapter, so move this block there",
                )
        chapter.check()
    return chapters


def names(source: str, path: Path, line: int, *, imports: bool = True) -> list[str]:
    """The names that a block binds at its top level."""
    try:
        table = symtable.symtable(source, path.as_posix(), "exec")
    except SyntaxError as error:
        raise ChapterError(path, line + (error.lineno or 1), error.msg) from None
    return [
        symbol.get_name()
        for symbol in table.get_symbols()
        if (symbol.is_assigned() and not symbol.is_imported()) or (symbol.is_imported() and imports)
    ]


def both(text: str, path: Path, line: int, what: str) -> tuple[str, str]:
    """Split a short string `中文 | English`."""
    zh, bar, en = (side.strip() for side in text.partition(" | "))
    if not (bar and zh and en):
        raise ChapterError(path, line, f"{what} must be `中文 | English`, got `{text}`")
    return zh, en


def pick(text: str, edition: str) -> str:
    """One side of `中文 | English`; a text without a bar stays as it is."""
    zh, bar, en = text.partition(" | ")
    return (zh if edition == "zh" else en).strip() if bar else text


def heading(block: Block) -> tuple[str, str, str]:
    """The Chinese and English text of a heading, and its ASCII id.

    The id is the one given as `{#id}`, or made from the English side.
    """
    text, given = re.fullmatch(  # type: ignore[union-attr]
        r"#+ +(.*?)(?:\s*\{#([\w-]+)\})?\s*", block.text
    ).groups()
    zh, en = pick(text, "zh"), pick(text, "en")
    plain = re.sub(r"[^a-z0-9]+", "-", re.sub(r"[`$*]", "", en).lower())
    return zh, en, given or plain.strip("-")


def _split(path: Path, text: str) -> Iterator[Block]:
    lines = text.split("\n")
    opened: list[Block] = []
    reached = 0
    tokens = PARSER.parse(text)
    items = {t.map[0] for t in tokens if t.type == "list_item_open" and t.level == 1 and t.map}
    for token in tokens:
        if token.map is None or token.nesting < 0:
            continue
        start, end = token.map
        if token.type == "code_block" or (token.type == "fence" and token.level):
            raise ChapterError(path, start + 1, "indented code is never tested; " + FLUSH)
        if token.level:
            continue
        while not lines[end - 1].strip():
            end -= 1
        block = Block(_kind(token, lines[start]), "\n".join(lines[start:end]), start + 1)
        yield from _unread(path, lines, reached, start)
        reached = end
        if block.kind == "code":
            block = replace(block, info=token.info.strip())
            if re.match(r"\W*py", block.info, re.I) and not PYTHON.fullmatch(block.info):
                raise ChapterError(
                    path,
                    start + 1,
                    f'`{block.info}` would not be tested; write `python` or `python title="…"`',
                )
            if not re.fullmatch(f"{re.escape(token.markup)}+ *", lines[end - 1]) or end - start < 2:
                raise ChapterError(
                    path, start + 1, f"this fence has no end; close it with {token.markup}"
                )
        elif block.text.startswith(("!!! ", "??? ", "???+ ", "=== ")):
            raise ChapterError(path, start + 1, "what stands under this is never tested; " + FLUSH)
        elif block.text.startswith("$$") and block.kind != "math":
            raise ChapterError(path, start + 1, "this formula has no end; close it with $$")
        elif block.kind in ("html", "math") and re.search(r"(?m)^\s*(`{3}|~{3})", block.text):
            raise ChapterError(path, start + 1, "code in here is never tested; " + FLUSH)
        elif block.kind == "html" and HAN.search(re.sub(r"<[^>]*>", "", block.text)):
            raise ChapterError(path, start + 1, "HTML has no twin; write it as Markdown")
        elif block.kind == "heading" and not re.match(r"#{1,6} +\S", block.text):
            raise ChapterError(path, start + 1, "write a heading as `## 中文 | English`")
        elif block.kind == "figure":
            found = FIGURE.fullmatch(block.text)
            if not found:
                raise ChapterError(path, start + 1, 'a figure stands alone: `![…](path "…")`')
            both(found[1], path, start + 1, "a figure's alternative text")
            both(found[3] or "", path, start + 1, "a figure's caption")
        elif block.kind == "heading":
            both(block.text.lstrip("# "), path, start + 1, "a heading")
        elif block.text.startswith("///") and end - start > 1:
            raise ChapterError(path, start + 1, "leave a blank line before and after ///")
        elif block.kind == "open":
            both(block.text.partition(" | ")[2], path, start + 1, "the title of a /// block")
            if block.text.split()[1] not in ADMONITIONS:
                raise ChapterError(path, start + 1, f"a /// block is one of: {ADMONITIONS}")
            opened.append(block)
        elif block.kind == "close":
            if not opened:
                raise ChapterError(path, start + 1, "this /// closes nothing")
            if opened.pop().text.split()[0] != block.text.rstrip():
                raise ChapterError(path, start + 1, "close a block with as many / as it began with")
        yield from _by_language(block, items) if block.kind == "list" else [block]
    yield from _unread(path, lines, reached, len(lines))
    if opened:
        raise ChapterError(path, opened[-1].line, "this /// block has no end; close it with ///")


def _by_language(block: Block, items: set[int]) -> Iterator[Block]:
    """Part a list where its items change language: Markdown takes both for one list."""
    lines = block.text.split("\n")
    starts = [i for i in range(len(lines)) if block.line - 1 + i in items]
    at = [i for i in starts if i == 0 or not lines[i - 1].strip()]
    whole = [
        replace(block, text="\n".join(lines[a:b]).rstrip(), line=block.line + a)
        for a, b in pairwise([*at, len(lines)])
    ]
    for _, group in groupby(whole, lambda item: item.language):
        same = list(group)
        last = same[-1].line - same[0].line + same[-1].text.count("\n") + 1
        first = same[0].line - block.line
        yield replace(same[0], text="\n".join(lines[first : first + last]))


def _unread(path: Path, lines: list[str], start: int, end: int) -> Iterator[Block]:
    """Nothing may be lost between two blocks, such as a link's definition."""
    for number, line in enumerate(lines[start:end], start + 1):
        if line.strip():
            raise ChapterError(
                path, number, "no block holds this line; write a link's target with the link"
            )
    yield from ()


def _kind(token: Token, line: str) -> str:
    if token.type != "paragraph_open":
        return KINDS[token.type]
    if line.startswith("!["):
        return "figure"
    if line.startswith("///"):
        return "open" if line.strip("/ ") else "close"
    return "directive" if line.startswith(":::") else "paragraph"


def _pair(path: Path, blocks: list[Block]) -> Iterator[Block | Twin]:
    at = 0

    def run(language: str) -> list[Block]:
        nonlocal at
        start = at
        while at < len(blocks) and blocks[at].language == language:
            at += 1
        return blocks[start:at]

    while at < len(blocks):
        if not blocks[at].language:
            yield blocks[at]
            at += 1
            continue
        zh, en = run("zh"), run("en")
        for i in range(max(len(zh), len(en))):
            if i >= len(en):
                raise ChapterError(
                    path,
                    zh[i].line,
                    f"this Chinese {zh[i].kind} has no English twin; write it after the run",
                )
            if i >= len(zh):
                raise ChapterError(
                    path,
                    en[i].line,
                    f"this English {en[i].kind} has no Chinese twin; write it before the run",
                )
            ours, theirs = zh[i], en[i]
            if (ours.kind, ours.shape) != (theirs.kind, theirs.shape):
                raise ChapterError(
                    path,
                    theirs.line,
                    f"twins differ: {_shape(theirs)} here, {_shape(ours)} in Chinese on line {ours.line}; make them alike",
                )
            yield Twin(ours, theirs)


def _shape(block: Block) -> str:
    parts = ", ".join(f"{count} {part}" for part, count in block.shape.items() if count)
    return f"a {block.kind}" if block.kind == "paragraph" else f"a {block.kind} of {parts}"
