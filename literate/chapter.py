"""Read a chapter: its blocks, its code cells, and the pairing of its languages.

A chapter is Markdown. Blank lines divide it into blocks. Prose stands twice, a
run of Chinese blocks and then the same run in English; code, formulas, figures
and output stand once and belong to both.
"""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CHAPTERS = Path("docs/chapters")
PACKAGE = "attention_book"

FENCE = re.compile(r"( *)(`{3,}|~{3,}) *(.*)")
ITEM = re.compile(r"([-*+]|\d+[.)]) ")
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
    def size(self) -> int:
        """Items of a list, rows of a table; 1 for all else."""
        lines = self.text.split("\n")
        if self.kind == "table":
            return len(lines)
        return sum(bool(ITEM.match(line)) for line in lines) or 1


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
        name = (
            "__init__"
            if self.name == "preface"
            else self.name.replace("-", "_")
        )
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
                if (
                    before is None
                    or before is not cells[-1].code
                    or before.title
                ):
                    raise self.error(
                        block, "output that follows no untitled Python block"
                    )
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
                raise self.error(
                    block, f"{path} is drawn and never shown; add ![…]({path})"
                )
        return self

    def figures(self) -> Iterator[tuple[Block, str]]:
        """Each figure block that shows something drawn by a chapter, and its path."""
        for block in self.blocks:
            found = (
                FIGURE.fullmatch(block.text)
                if block.kind == "figure"
                else None
            )
            if found and found[2].startswith("figures/"):
                yield block, found[2]

    def error(self, block: Block, message: str) -> ChapterError:
        return ChapterError(self.path, block.line, message)


def read(path: Path, root: Path = ROOT) -> Chapter:
    """Read the file at root/path."""
    return Chapter(path, (root / path).read_text("utf-8"))


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
                    f"{title} belongs to {owner.path.as_posix()} already; a module has one chapter",
                )
        chapter.check()
    return chapters


def names(
    source: str, path: Path, line: int, *, imports: bool = True
) -> list[str]:
    """The names that a block binds at its top level."""
    try:
        tree = ast.parse(source)
    except SyntaxError as error:
        raise ChapterError(
            path, line + (error.lineno or 1), error.msg
        ) from None
    found = []
    for node in tree.body:
        if isinstance(
            node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
        ):
            found.append(node.name)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            bound = [(a.asname or a.name).split(".")[0] for a in node.names]
            found += bound if imports else []
        else:
            inner = (n for n in ast.walk(node) if isinstance(n, ast.Name))
            found += [n.id for n in inner if isinstance(n.ctx, ast.Store)]
    return found


def both(text: str, path: Path, line: int, what: str) -> tuple[str, str]:
    """Split a short string `中文 | English`."""
    zh, bar, en = (side.strip() for side in text.partition(" | "))
    if not (bar and zh and en):
        raise ChapterError(
            path, line, f"{what} must be `中文 | English`, got `{text}`"
        )
    return zh, en


def _split(path: Path, text: str) -> Iterator[Block]:
    lines = text.split("\n")
    opened: list[int] = []
    held: Block | None = None  # a list may go on after a blank line
    at = 0
    while at < len(lines):
        line, start = lines[at], at
        indented = line.startswith(("  ", "\t"))
        fence = FENCE.match(line)
        if not line.strip():
            at += 1
            continue
        if fence:
            if fence[1]:
                raise ChapterError(
                    path,
                    at + 1,
                    "an indented fence is never tested; begin it at the left margin, inside `/// note | … | …` if need be",
                )
            end = re.compile(
                rf"{re.escape(fence[2][0])}{{{len(fence[2])},}}\s*"
            )
            at = (
                next(
                    (
                        i
                        for i in range(at + 1, len(lines))
                        if end.fullmatch(lines[i])
                    ),
                    -1,
                )
                + 1
            )
            if not at:
                raise ChapterError(
                    path,
                    start + 1,
                    f"this fence has no end; close it with {fence[2]}",
                )
            block = Block(
                "code", "\n".join(lines[start:at]), start + 1, fence[3].strip()
            )
        elif line.startswith(("!!! ", "??? ", "???+ ", "=== ")):
            raise ChapterError(
                path,
                at + 1,
                "blocks under this would be indented and never tested; write `/// note | 提示 | Note`",
            )
        elif line == "---" and at == 0:
            at = (
                next((i for i in range(1, len(lines)) if lines[i] == "---"), 0)
                + 1
            )
            block = Block("meta", "\n".join(lines[:at]), 1)
        elif line.startswith("$$"):
            while at < len(lines) and not (
                lines[at].rstrip().endswith("$$")
                and lines[at].strip() != "$$" * (at == start)
            ):
                at += 1
            if at == len(lines):
                raise ChapterError(
                    path,
                    start + 1,
                    "this formula has no end; close it with $$",
                )
            at += 1
            block = Block("math", "\n".join(lines[start:at]), start + 1)
        elif re.match(r"#{1,6} ", line):
            at += 1
            both(line.lstrip("# "), path, at, "a heading")
            block = Block("heading", line, at)
        elif re.fullmatch(r"/{3,}", line):
            at += 1
            if not opened:
                raise ChapterError(path, at, "this /// closes nothing")
            opened.pop()
            block = Block("close", line, at)
        elif re.match(r"/{3,} ", line):
            at += 1
            both(
                line.partition(" | ")[2], path, at, "the title of a /// block"
            )
            opened.append(at)
            block = Block("open", line, at)
        else:
            while (
                at < len(lines)
                and lines[at].strip()
                and (at == start or not _breaks(lines[at]))
            ):
                at += 1
            text = "\n".join(lines[start:at])
            if indented:
                if held is None:
                    raise ChapterError(
                        path, start + 1, "indented text continues no list"
                    )
                held = Block(held.kind, f"{held.text}\n\n{text}", held.line)
                continue
            block = Block(_kind(text), text, start + 1)
        if held:
            yield held
        held = block if block.kind in ("list", "directive") else None
        if not held:
            yield block
    if held:
        yield held
    if opened:
        raise ChapterError(
            path, opened[-1], "this /// block has no end; close it with ///"
        )


def _breaks(line: str) -> bool:
    return bool(re.match(r"#{1,6} |/{3,}( |$)|\$\$|`{3}|~{3}", line))


def _kind(text: str) -> str:
    if FIGURE.fullmatch(text):
        return "figure"
    if ITEM.match(text):
        return "list"
    for mark, kind in (
        ("|", "table"),
        (">", "quote"),
        ("<", "html"),
        (":::", "directive"),
    ):
        if text.startswith(mark):
            return kind
    return "rule" if re.fullmatch(r"-{3,}|\*{3,}", text) else "paragraph"


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
            if (ours.kind, ours.size) != (theirs.kind, theirs.size):
                raise ChapterError(
                    path,
                    theirs.line,
                    f"twins differ: {_shape(theirs)} here, {_shape(ours)} in Chinese on line {ours.line}; make them alike",
                )
            yield Twin(ours, theirs)


def _shape(block: Block) -> str:
    part = {"list": "items", "table": "rows"}.get(block.kind)
    return (
        f"a {block.kind} of {block.size} {part}" if part else f"a {block.kind}"
    )
