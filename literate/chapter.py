"""Read a chapter: its blocks, its code cells, and the pairing of its languages.

A chapter is Markdown. Blank lines divide it into blocks. Prose stands twice, a
run of Chinese blocks and then the same run in English; code, formulas, figures
and output stand once and belong to both.
"""

import re
import symtable
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import zip_longest
from pathlib import Path

from literate.blocks import FIGURE, Block, ChapterError, heading, split


ROOT = Path(__file__).resolve().parent.parent
CHAPTERS = Path("docs/chapters")
PACKAGE = "attention_book"
DRAWN = re.compile(r"plt\.figure\(\s*[\"']([^\"']+)[\"']")


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
        """The module this chapter may define; or else all of the folder of that name."""
        name = "__init__" if self.name == "preface" else self.name.replace("-", "_")
        return f"{PACKAGE}/{name}.py"

    def owns(self, title: str) -> bool:
        """Whether the chapter may define this file."""
        folder = self.module.removesuffix(".py") + "/"
        inside = title.startswith(folder) and re.fullmatch(r"(\w+/)*\w+\.py", title[len(folder) :])
        return title == self.module or bool(inside)

    @cached_property
    def blocks(self) -> list[Block]:
        return list(split(self.path, self.text))

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
        """The blocks that make up the chapter's modules."""
        titled = [cell.code for cell in self.cells if cell.code.title]
        seen: dict[tuple[str, str], int] = {}
        for block in titled:
            if not self.owns(block.title):
                folder = self.module.removesuffix(".py")
                raise self.error(
                    block,
                    f'title="{block.title}" in the chapter of {self.module}; a chapter owns '
                    f"that file or those in {folder}/: move the block or rename the title",
                )
            for name in names(block.body, self.path, block.line):
                before = seen.setdefault((block.title, name), block.line)
                if before != block.line:
                    raise self.error(
                        block,
                        f"{name} is defined twice, first on line {before}; leave the "
                        "naive version in a block without title",
                    )
        return titled

    @cached_property
    def modules(self) -> dict[str, list[Block]]:
        """The files that the chapter defines, each with its blocks in order."""
        found: dict[str, list[Block]] = {}
        for block in self.titled:
            found.setdefault(block.title, []).append(block)
        if self.module in found and len(found) > 1:
            raise self.error(
                found[self.module][0], f"{self.module} and a folder of that name; keep one of them"
            )
        return found

    def check(self) -> "Chapter":
        """Raise ChapterError for the first thing that is wrong."""
        _ = self.parts, self.cells, self.modules
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
                    block, f'no block draws {path}; draw it in a cell with plt.figure("{name}")'
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


def pages(root: Path = ROOT) -> list[Path]:
    """Every page that a reader meets, those at the root among them."""
    found = sorted((root / "docs").glob("**/*.md"))
    return [Path("README.md"), Path("CONTRIBUTING.md"), *(path.relative_to(root) for path in found)]


def untested(root: Path = ROOT) -> list[str]:
    """Python on a page that no test runs, and chapters that no one would find."""
    found = []
    for path in pages(root):
        if path.parent == CHAPTERS:
            if not re.match(r"\d\d-", path.name):
                found.append(f"{path.as_posix()}:1: not a chapter; call it NN-name.md")
        elif path.parts[0] == "docs":  # whose example has a test
            found += [
                f"{path.as_posix()}:{block.line}: code here is never tested; put it in a chapter"
                for block in read(path, root).blocks
                if block.info.startswith("python")
            ]
    return found


def dotted(title: str) -> str:
    """The name by which Python imports a file of the package."""
    return title.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


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
        for zh, en in zip_longest(run("zh"), run("en")):
            if not zh or not en:
                lone = zh or en
                has, lacks, where = (
                    ("Chinese", "English", "after") if zh else ("English", "Chinese", "before")
                )
                fault = f"this {has} {lone.kind} has no {lacks} twin; write it {where} the run"
                raise ChapterError(path, lone.line, fault)
            if (zh.kind, zh.shape) != (en.kind, en.shape):
                fault = f"{_shape(en)} here, {_shape(zh)} in Chinese on line {zh.line}"
                raise ChapterError(path, en.line, f"twins differ: {fault}; make them alike")
            yield Twin(zh, en)


def _shape(block: Block) -> str:
    parts = ", ".join(f"{count} {part}" for part, count in block.shape.items() if count)
    return f"a {block.kind}" if block.kind == "paragraph" else f"a {block.kind} of {parts}"
