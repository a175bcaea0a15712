"""Read a chapter: its blocks, its code cells, and the pairing of its languages.

A chapter is Markdown. Blank lines divide it into blocks. Prose stands twice, a
run of Chinese blocks and then the same run in English; code, formulas, figures
and output stand once and belong to both.
"""

import contextlib
import io
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from importlib import import_module
from itertools import groupby, zip_longest
from pathlib import Path
from typing import Any, NamedTuple

from literate import ROOT, exercises, labs
from literate.blocks import FIGURE, Block, ChapterError, heading, names, split
from literate.exercises import Exercise


NAV = Path("mkdocs.yml")
SOURCE = Path("docs/source")  # pages of code that no reader of the book need read in order
PACKAGE = "attention_book"
SCRIPTS = "docs/assets/live"  # what runs in the reader's browser
LISTED = re.compile(r"^ +- (\S+\.md)$", re.M)  # a page in the navigation
NO_CHAPTER = re.compile(r"(.*/)?index\.md|(?:api|live)/.*|(?:glossary|history|teaching|errata)\.md")


class Twin(NamedTuple):
    """A Chinese block and the English block that says the same."""

    zh: Block
    en: Block


class Cell(NamedTuple):
    """A Python block and the output that the chapter says it prints."""

    code: Block
    output: Block | None


@dataclass(frozen=True)
class Chapter:
    """The text of a chapter, or of any other page, with what can be asked of it."""

    path: Path
    text: str
    number: int = -1  # of a chapter, by its place in the navigation; no other page has one

    @property
    def name(self) -> str:
        """The file's name without its ending, which no other chapter has."""
        return self.path.stem

    @property
    def is_chapter(self) -> bool:
        return self.number >= 0

    @property
    def is_source(self) -> bool:
        """Whether it is a page of the annotated source."""
        return self.path.parent == SOURCE and self.name != "index"

    @property
    def is_part(self) -> bool:
        """Whether it is the first page of a part of the book."""
        folder = self.path.parent
        inside = folder.parent == Path("docs") and folder.name not in ("api", SOURCE.name)
        return inside and self.path.name == "index.md"

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
        for before, block in zip([None, *self.blocks], self.blocks, strict=False):
            if block.info.startswith("python"):
                cells.append(Cell(block, None))
            elif block.info == "output":
                if not before or before.info != "python":
                    raise self.error(block, "output that follows no untitled Python block")
                cells[-1] = Cell(before, block)
        return cells

    @cached_property
    def modules(self) -> dict[str, list[Block]]:
        """The files of the package that the chapter defines, each with its blocks in order.

        `read_all` sees to it that a file has one owner.
        """
        modules: dict[str, list[Block]] = {}
        defined: dict[tuple[str, str], int] = {}
        for block in (cell.code for cell in self.cells if cell.code.title):
            if fault := self._misplaced(block.title):
                raise self.error(block, fault)
            modules.setdefault(block.title, []).append(block)
            for name in names(block.body, self.path, block.line):
                before = defined.setdefault((block.title, name), block.line)
                if before != block.line:
                    fault = f"{name} is defined twice, first on line {before}"
                    raise self.error(block, f"{fault}; leave one version without title")
        return modules

    def _misplaced(self, title: str) -> str:
        """Why this chapter can never define a file of this title, or nothing."""
        if not re.fullmatch(rf"{PACKAGE}(/\w+)+\.py", title):
            return f"a title is a file of {PACKAGE}/, not {title}; rename the title"
        return ""

    @cached_property
    def scripts(self) -> dict[str, list[Block]]:
        """The JavaScript files that the chapter defines, each with its blocks in order."""
        scripts: dict[str, list[Block]] = {}
        for block in self.blocks:
            if block.info.startswith("js") and block.title:
                if not re.fullmatch(rf"{SCRIPTS}/\w+\.js", block.title):
                    raise self.error(block, f"a script is a file of {SCRIPTS}/, not {block.title}")
                scripts.setdefault(block.title, []).append(block)
        return scripts

    @property
    def files(self) -> dict[str, list[Block]]:
        """All files that the chapter defines."""
        return self.modules | self.scripts

    @cached_property
    def exercises(self) -> list[Exercise]:
        """The exercises that a reader can check."""
        return exercises.find(self.path, self.parts)

    def above(self, block: Block) -> str:
        """The id of the heading above a block."""
        before = self.blocks[: self.blocks.index(block)]
        return next((heading(b)[2] for b in reversed(before) if b.kind == "heading"), "")

    def check(self) -> "Chapter":
        """Raise ChapterError for the first thing that is wrong."""
        _ = self.parts, self.cells, self.files, self.exercises
        anchors = {"": "empty"}
        for block in self.blocks:
            if block.kind == "heading":
                anchor = heading(block)[2]
                if why := anchors.get(anchor):
                    raise self.error(block, f"this heading's id is {why}; add {{#an-id}}")
                anchors[anchor] = f"that of line {block.line}"
        return self

    @cached_property
    def figures(self) -> dict[str, Block]:
        """Each figure that the chapter draws and shows, and the block that shows it."""
        shown = ((FIGURE.fullmatch(b.text), b) for b in self.blocks if b.kind == "figure")
        return {found[2]: b for found, b in shown if found and found[2].startswith("figures/")}

    def error(self, block: Block, message: str) -> ChapterError:
        return ChapterError(self.path, block.line, message)


def read_text(path: Path, root: Path = ROOT) -> str:
    """The text of the file at root/path."""
    text = (root / path).read_bytes().decode(errors="surrogateescape")
    if odd := re.search("[\r\ufeff\udc80-\udcff]", text):
        line = text.count("\n", 0, odd.start()) + 1
        raise ChapterError(path, line, f"save as UTF-8 with LF, no BOM; got {odd[0]!r}")
    return text


def order(root: Path = ROOT) -> dict[Path, int]:
    """The chapters in the order of the navigation, each with its number; the preface has 0."""
    nav = root / NAV
    listed = LISTED.findall(nav.read_text("utf-8")) if nav.exists() else []
    chapters = [name for name in listed if not NO_CHAPTER.fullmatch(name)]
    return {Path("docs") / name: number for number, name in enumerate(chapters)}


def read(path: Path, root: Path = ROOT) -> Chapter:
    """Read the page at root/path."""
    return _page(path, read_text(path, root), order(root).get(path, -1))


_page = lru_cache(maxsize=512)(Chapter)  # what was found of a page is not looked for again


def read_all(root: Path = ROOT) -> list[Chapter]:
    """Read and check every chapter, in the order of their numbers, and then the source."""
    paths = [*order(root)]
    if lost := [path.as_posix() for path in paths if not (root / path).exists()]:
        raise ChapterError(NAV, 1, f"there is no {lost[0]}, which the navigation lists")
    for folder in dict.fromkeys(path.parent for path in paths if path.parent != Path("docs")):
        for path in sorted((root / folder).glob("*.md")):
            if (page := path.relative_to(root)) not in paths and page.name != "index.md":
                raise ChapterError(page, 1, f"is not in the navigation of {NAV}; add it there")
    paths += [path.relative_to(root) for path in sorted((root / SOURCE).glob("*.md"))]
    chapters = [read(path, root).check() for path in paths if path != SOURCE / "index.md"]
    owners: dict[str, str] = {}
    for chapter in chapters:
        place = chapter.path.as_posix()
        if (owner := owners.setdefault(chapter.name, place)) != place:
            raise ChapterError(chapter.path, 1, f"{owner} has this name already; choose another")
    _check_owners(chapters)
    return chapters


def _check_owners(chapters: list[Chapter]) -> None:
    """Raise ChapterError for a file that two chapters define."""
    owners: dict[str, str] = {}
    for chapter in chapters:
        for title, (block, *_) in chapter.files.items():
            place = f"{chapter.path.as_posix()}:{block.line}"
            if (owner := owners.setdefault(title, place)) != place:
                fault = f"{title} stands on {owner} already, and a file belongs to one chapter"
                raise chapter.error(block, f"{fault}; move the blocks together")


def pages(root: Path = ROOT) -> list[Path]:
    """Every page in two languages, the labs and CONTRIBUTING among them."""
    found = [*(root / "docs").glob("**/*.md"), *(root / labs.LABS).glob("*.ipynb")]
    paths = (path.relative_to(root) for path in sorted(found))
    return [Path("CONTRIBUTING.md"), *paths]


def dotted(title: str) -> str:
    """The name by which Python imports a file of the package."""
    return title.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def defined_in(path: str, *wanted: str, root: Path = ROOT) -> dict[str, Any]:
    """What the cells of a chapter define that bind these names, for tests and experiments.

    They find there what the chapter's titled blocks bind, as when the chapter runs.
    """
    namespace: dict[str, Any] = {}
    chapter = read(Path(path), root)
    for code in (cell.code for cell in chapter.cells if not cell.code.role):
        bound = names(code.body, chapter.path, code.line)
        if code.title:
            package = vars(import_module(dotted(code.title)))
            namespace |= {name: package[name] for name in bound if name in package}
        if code.title or not set(wanted) & set(bound):
            continue
        with contextlib.redirect_stdout(io.StringIO()):
            exec(compile("\n" * code.line + code.body, path, "exec"), namespace)
    return namespace


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
