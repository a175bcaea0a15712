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
from itertools import groupby, zip_longest
from pathlib import Path

from literate import ROOT, labs
from literate.blocks import FIGURE, Block, ChapterError, heading, split


CHAPTERS = Path("docs/chapters")
PACKAGE = "attention_book"


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
    """The text of a chapter, or of any other page, with what can be asked of it."""

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
        stem = re.escape(self.module.removesuffix(".py"))
        return bool(re.fullmatch(rf"{stem}(/\w+)*\.py", title))

    @cached_property
    def blocks(self) -> list[Block]:
        return (labs.split if self.path.suffix == ".ipynb" else split)(self.path, self.text)

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
        return self

    def figures(self) -> Iterator[tuple[Block, str]]:
        """Each block that shows a figure drawn by the chapter, and its path."""
        for block in self.blocks:
            found = FIGURE.fullmatch(block.text) if block.kind == "figure" else None
            if found and found[2].startswith("figures/"):
                yield block, found[2]

    def error(self, block: Block, message: str) -> ChapterError:
        return ChapterError(self.path, block.line, message)


def read_text(path: Path, root: Path = ROOT) -> str:
    """The text of the file at root/path."""
    text = (root / path).read_bytes().decode(errors="surrogateescape")
    if odd := re.search("[\r\ufeff\udc80-\udcff]", text):
        line = text.count("\n", 0, odd.start()) + 1
        fault = f"save as UTF-8 with LF, no byte order mark; got {odd[0]!r}"
        raise ChapterError(path, line, fault)
    return text


def read(path: Path, root: Path = ROOT) -> Chapter:
    """Read the page at root/path."""
    return Chapter(path, read_text(path, root))


def read_all(root: Path = ROOT) -> list[Chapter]:
    """Read and check every chapter, in the order of their numbers."""
    paths = sorted((root / CHAPTERS).glob("[0-9][0-9]-*.md"))
    chapters = [read(path.relative_to(root), root).check() for path in paths]
    owners: dict[str, Chapter] = {}
    for chapter in chapters:
        for title, blocks in chapter.modules.items():
            owner = owners.setdefault(title, chapter).path.as_posix()
            if owner != chapter.path.as_posix():
                raise chapter.error(
                    blocks[0], f"{title} belongs to {owner}; write it in one chapter"
                )
    return chapters


def pages(root: Path = ROOT) -> list[Path]:
    """Every page that a reader meets, the labs and those at the root among them."""
    found = [*(root / "docs").glob("**/*.md"), *(root / labs.LABS).glob("*.ipynb")]
    paths = (path.relative_to(root) for path in sorted(found))
    return [Path("README.md"), Path("CONTRIBUTING.md"), *paths]


def untested(root: Path = ROOT) -> list[str]:
    """Python on a page that no test runs, and chapters that no one would find."""
    found = []
    for path in pages(root):
        if path.parent == CHAPTERS and not re.match(r"\d\d-", path.name):
            found.append(f"{path.as_posix()}:1: not a chapter; call it NN-name.md")
        elif path.parts[0] == "docs" and path.parent not in (CHAPTERS, labs.LABS):
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
    """Pair each run of Chinese blocks with the run of English blocks after it."""
    waiting: list[Block] = []  # Chinese blocks, for their twins
    runs = [(key, list(run)) for key, run in groupby(blocks, lambda block: block.language)]
    for language, run in [*runs, ("", [])]:
        if language == "zh":
            waiting = run
            continue
        for zh, en in zip_longest(waiting, run if language == "en" else ()):
            if not en:
                fault = f"this Chinese {zh.kind} has no English twin; write it after the run"
                raise ChapterError(path, zh.line, fault)
            if not zh:
                fault = f"this English {en.kind} has no Chinese twin; write it before the run"
                raise ChapterError(path, en.line, fault)
            if zh.shape != en.shape:
                fault = f"{en.shape} here, {zh.shape} in Chinese on line {zh.line}"
                raise ChapterError(path, en.line, f"twins differ: {fault}; make them alike")
            yield Twin(zh, en)
        waiting = []
        yield from () if language else run
