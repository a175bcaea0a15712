"""Run the chapters, and remember which passed: a runner for pytest-markdown-docs.

Each chapter is one module, each block runs once, in order. A block with a title
is not run but imported from the package, so that its classes are the package's
own. What a cell prints is compared with the `output` block after it, and what it
draws is saved.
"""

import contextlib
import doctest
import hashlib
import importlib
import io
import linecache
import os
import random
import re
import sys
import traceback
import types
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import jaxtyping
import pytest
from pytest_markdown_docs import _runners
from pytest_markdown_docs.definitions import FenceTestDefinition

from literate import ROOT
from literate.blocks import Block, ChapterError, fenced, heading
from literate.chapter import PACKAGE, Cell, Chapter, dotted, names, read
from literate.tangle import tangle, write


STAMPS = Path(".cache/ran")
os.environ.setdefault("MATPLOTLIBRC", str(Path(__file__).with_name("matplotlibrc")))


def digest(chapter: Chapter, root: Path = ROOT) -> str:
    """Of all that decides whether a chapter passes: its code, outputs, figures, the package."""
    parts = [b.text for b in chapter.blocks if b.info.startswith("python") or b.info == "output"]
    parts += [path for _, path in chapter.figures()]
    parts += [path.read_text("utf-8") for path in sorted((root / PACKAGE).glob("**/*.py"))]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def remember(chapter: Chapter, passed: bool, root: Path = ROOT) -> None:
    stamp = root / STAMPS / chapter.path.stem
    if passed:
        write(stamp, digest(chapter, root))
    else:
        stamp.unlink(missing_ok=True)


def fresh(chapter: Chapter, root: Path = ROOT) -> bool:
    """Whether the chapter passed as it stands, with its figures in place."""
    stamp = root / STAMPS / chapter.path.stem
    passed = stamp.exists() and stamp.read_text("utf-8") == digest(chapter, root)
    figures = [root / chapter.path.parent / path for _, path in chapter.figures()]
    return not chapter.cells or (passed and all(path.exists() for path in figures))


def same(want: str, got: str) -> bool:
    """Compare by doctest's rules; `...` stands for anything, unless it was printed."""
    rules = doctest.NORMALIZE_WHITESPACE | doctest.DONT_ACCEPT_TRUE_FOR_1
    rules |= 0 if "..." in got else doctest.ELLIPSIS
    return doctest.OutputChecker().check_output(want, got, rules)


@contextlib.contextmanager
def unchecked() -> Iterator[None]:
    """Switch the tests' checking of shapes off: a cell meets the package as a reader does."""
    before = jaxtyping.config.jaxtyping_disable
    jaxtyping.config.update("jaxtyping_disable", True)
    try:
        yield
    finally:
        jaxtyping.config.update("jaxtyping_disable", before)


def clean_slate(root: Path) -> None:
    """Undo what the chapter before may have set, as if each had its own process."""
    os.chdir(root)
    random.seed()
    torch: Any = sys.modules.get("torch")
    if torch:
        torch.seed()  # a chapter that forgets its seed shall fail here, not at the reader's
        torch.set_default_dtype(torch.float32)
        torch.set_grad_enabled(True)
        torch.set_printoptions(profile="default", sci_mode=None)
    pyplot: Any = sys.modules.get("matplotlib.pyplot")
    if pyplot:  # a figure left open would be saved under the next chapter's name
        pyplot.close("all")
        sys.modules["matplotlib"].rc_file_defaults()


class DiffersError(ChapterError):
    """A block is not what the chapter says; those after it can go on all the same."""


@dataclass
class Session:
    """A chapter being run: its namespace, and what became of each block so far, by line."""

    chapter: Chapter
    root: Path
    module: types.ModuleType = field(init=False)
    results: dict[int, BaseException | None] = field(default_factory=dict)
    outputs: dict[int, str] = field(default_factory=dict)  # to be written
    drawn: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        path = str(self.root / self.chapter.path)
        self.module = types.ModuleType("chapter_" + self.chapter.name.replace("-", "_"))
        self.module.__file__ = path
        sys.modules[self.module.__name__] = self.module
        lines = ["\n"] * (self.chapter.text.count("\n") + 1)
        for cell in self.chapter.check().cells:
            if not cell.code.title:
                code = cell.code.body.splitlines(keepends=True)
                lines[cell.code.line : cell.code.line + len(code)] = code
        linecache.cache[path] = (len(lines), None, lines, path)

    def run_to(self, line: int, update: bool) -> None:
        """Run the block that begins on this line, and before it all that did not run yet."""
        if not self.results:
            clean_slate(self.root)
        for cell in self.chapter.cells:
            at = cell.code.line
            if at not in self.results:
                self.results[at] = self.attempt(cell, update)
            result = self.results[at]
            if result and at == line:
                raise result
            if result and not isinstance(result, DiffersError):
                fault = f"this block failed, so the one on line {line} did not run"
                raise self.chapter.error(cell.code, fault)
            if at == line:
                break
        else:
            raise ChapterError(self.chapter.path, line, "no cell of the chapter; nothing ran")
        if len(self.results) < len(self.chapter.cells):
            return
        for block, path in self.chapter.figures():
            if path not in self.drawn:
                fault = f'no block drew {path}; draw it with plt.figure("{Path(path).stem}")'
                raise self.chapter.error(block, fault)
        if not self.outputs and not any(self.results.values()):
            remember(self.chapter, True, self.root)

    def attempt(self, cell: Cell, update: bool) -> BaseException | None:
        try:
            if cell.code.title:
                self.take(cell.code)
            else:
                self.execute(cell, update)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # SystemExit and a skip are no pass either
            remember(self.chapter, False, self.root)
            return error
        return None

    def take(self, block: Block) -> None:
        """Bring what a titled block binds from the package into the chapter."""
        if not (self.root / block.title).exists():
            raise self.chapter.error(block, f"there is no {block.title} yet; run: nox -s tangle")
        package = importlib.import_module(dotted(block.title))
        for name in names(block.body, self.chapter.path, block.line):
            if hasattr(package, name):
                setattr(self.module, name, getattr(package, name))
        if (self.root / block.title).read_text("utf-8") != tangle(self.chapter, block.title):
            how = "run: nox -s tangle, or to keep an edit made there: nox -s tangle -- --stitch"
            fault = f"differs from {block.title}; {how}"
            raise DiffersError(self.chapter.path, block.line, fault)

    def execute(self, cell: Cell, update: bool) -> None:
        source = "\n" * cell.code.line + cell.code.body
        code = compile(source, str(self.module.__file__), "exec", dont_inherit=True)
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed), unchecked():
            exec(code, self.module.__dict__)
        self.save_figures(cell)
        got = printed.getvalue()
        want = cell.output.body if cell.output else ""
        if same(want, got):
            return
        if update:
            self.outputs[cell.code.line] = got
            return
        show = doctest.OutputChecker().output_difference(doctest.Example("", want), got, 0)
        fault = "wrong output; if the new one is right, run: nox -s doctests -- --update-outputs"
        line = (cell.output or cell.code).line
        raise DiffersError(self.chapter.path, line, f"{fault}\n{show}")

    def save_figures(self, cell: Cell) -> None:
        pyplot: Any = sys.modules.get("matplotlib.pyplot")
        for number in pyplot.get_fignums() if pyplot else ():
            figure = pyplot.figure(number)
            path = f"figures/{self.chapter.name}/{figure.get_label()}.svg"
            if path not in [shown for _, shown in self.chapter.figures()]:
                pyplot.close("all")
                fault = "is drawn and never shown; name it with plt.figure, and add"
                raise self.chapter.error(cell.code, f'{path} {fault} ![…]({path} "…")')
            drawn = io.StringIO()
            figure.savefig(drawn, metadata={"Date": None})
            write(self.root / self.chapter.path.parent / path, drawn.getvalue())
            self.drawn.add(path)
            pyplot.close(figure)

    def write_outputs(self) -> None:
        """Put what the blocks printed into the chapter (--update-outputs)."""
        if not self.outputs:
            return
        if read(self.chapter.path, self.root).text != self.chapter.text:
            print(f"{self.chapter.path}:1: changed while it ran, so nothing was written; run again")
            return
        lines = self.chapter.text.split("\n")
        for cell in reversed(self.chapter.cells):
            if cell.code.line in self.outputs:
                printed = self.outputs[cell.code.line]
                last = cell.output or cell.code
                start = cell.code.line + cell.code.text.count("\n")
                end = last.line + last.text.count("\n")
                new = ["", *fenced("output", printed).split("\n")] if printed else []
                lines[start:end] = new
        write(self.root / self.chapter.path, "\n".join(lines))


SESSIONS: dict[Path, Session] = {}
updating = False


def session(path: Path) -> Session:
    """The one session of the chapter at this path: root/docs/chapters/NN-name.md."""
    if path not in SESSIONS:
        root = path.parents[2]
        SESSIONS[path] = Session(read(path.relative_to(root), root), root)
    return SESSIONS[path]


@_runners.register_runner(default=True)
class ChapterRunner(_runners.DefaultRunner):
    """Stands in for the plugin's own runner."""

    def runtest(
        self, test: FenceTestDefinition, args: dict[str, Any], *, asyncio_runner: object = None
    ) -> None:
        del args, asyncio_runner
        session(Path(test.source_path)).run_to(test.start_line, updating)

    def repr_failure(
        self,
        test: FenceTestDefinition,
        excinfo: pytest.ExceptionInfo[BaseException],
        style: object = None,
    ) -> str:
        del style
        if isinstance(excinfo.value, ChapterError):
            return str(excinfo.value)
        frames = traceback.extract_tb(excinfo.tb)
        inside = [frame for frame in frames if frame.filename == str(test.source_path)]
        line = inside[-1].lineno if inside else getattr(excinfo.value, "lineno", test.start_line)
        start = frames.index(inside[0]) if inside else len(frames)
        trace = "".join(traceback.format_list(frames[start:]))
        path = os.path.relpath(test.source_path)
        return f"{path}:{line}: this block raises\n{trace}{excinfo.exconly()}"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-outputs", action="store_true", help="rewrite the output blocks of the chapters"
    )


def pytest_configure(config: pytest.Config) -> None:
    global updating
    updating = config.getoption("--update-outputs")


class Reader(pytest.File):
    """Reads a chapter whole before its blocks are collected, so that none is missed."""

    def collect(self) -> list[pytest.Item]:
        try:
            session(self.path)
        except ChapterError as error:
            raise self.CollectError(str(error)) from None
        return []


@pytest.hookimpl(tryfirst=True)
def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> Reader | None:
    chapter = re.match(r"\d\d-.*\.md$", file_path.name)
    return Reader.from_parent(parent, path=file_path) if chapter else None


def pytest_itemcollected(item: pytest.Item) -> None:
    """Let `-k` find a block by the names that it binds and the heading above it."""
    if item.path not in SESSIONS or not hasattr(item, "start_line"):
        return
    above = ""
    for block in SESSIONS[item.path].chapter.blocks:
        if block.kind == "heading":
            above = heading(block)[2]
        elif block.line == item.start_line:
            bound = names(block.body, item.path, block.line, imports=False)
            item.extra_keyword_matches.update([above, *bound])


def pytest_sessionfinish() -> None:
    for chapter in SESSIONS.values():
        chapter.write_outputs()
