"""Run the chapters: a runner for pytest-markdown-docs.

Each chapter is one module, each block runs once, in order. A block with a title
is not run but imported from the package, so that its classes are the package's
own. What a cell prints is compared with the `output` block after it, and what it
draws is saved.
"""

import contextlib
import doctest
import importlib
import io
import linecache
import os
import random
import re
import sys
import traceback
import types
from collections.abc import Generator, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import jaxtyping
import pytest
from pytest_markdown_docs import _runners
from pytest_markdown_docs.definitions import FenceTestDefinition

from literate import freshness
from literate.blocks import Block, ChapterError, heading
from literate.chapter import Cell, Chapter, dotted, names, read
from literate.tangle import tangle, write


os.environ.setdefault("MATPLOTLIBRC", str(Path(__file__).with_name("matplotlibrc")))


class DiffersError(ChapterError):
    """A block is not what the chapter says; those after it can go on all the same."""


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
    pyplot: Any = sys.modules.get("matplotlib.pyplot")
    if pyplot:  # a figure left open would be saved under the next chapter's name
        pyplot.close("all")
    torch: Any = sys.modules.get("torch")
    if torch:
        torch.seed()  # a chapter that forgets its seed shall fail here, not at the reader's
        torch.set_default_dtype(torch.float32)
        torch.set_grad_enabled(True)
        torch.set_printoptions(profile="default", sci_mode=None)
    matplotlib: Any = sys.modules.get("matplotlib")
    if matplotlib:
        matplotlib.rc_file_defaults()


@dataclass
class Session:
    """A chapter being run: its namespace, and what became of each block so far."""

    chapter: Chapter
    root: Path
    module: types.ModuleType = field(init=False)
    results: dict[int, BaseException | None] = field(default_factory=dict)
    outputs: dict[int, str] = field(default_factory=dict)  # to be written, by line
    drawn: set[Path] = field(default_factory=set)

    def __post_init__(self) -> None:
        path = str(self.root / self.chapter.path)
        self.module = types.ModuleType("chapter_" + self.chapter.name.replace("-", "_"))
        self.module.__file__ = path
        sys.modules[self.module.__name__] = self.module
        self.chapter.check()
        lines = [""] * (self.chapter.text.count("\n") + 1)
        for cell in self.chapter.cells:
            if not cell.code.title:
                code = cell.code.body.splitlines()
                lines[cell.code.line : cell.code.line + len(code)] = code
        masked = [line + "\n" for line in lines]
        linecache.cache[path] = (len(masked), None, masked, path)

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
                raise self.chapter.error(
                    cell.code, f"this block failed, so the one on line {line} did not run"
                )
            if at == line:
                break
        else:
            raise ChapterError(self.chapter.path, line, "no cell of the chapter; nothing ran")
        done = len(self.results) == len(self.chapter.cells)
        for block, path in self.chapter.figures() if done else ():
            if (self.root / self.chapter.path.parent / path) not in self.drawn:
                raise self.chapter.error(block, f"no block drew {path}")
        if done and not self.outputs and not any(self.results.values()):
            freshness.remember(self.chapter, True, self.root)

    def attempt(self, cell: Cell, update: bool) -> BaseException | None:
        try:
            if cell.code.title:
                self.take(cell.code)
            else:
                self.execute(cell, update)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # SystemExit and a skip are no pass either
            freshness.remember(self.chapter, False, self.root)
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
            raise DiffersError(
                self.chapter.path,
                block.line,
                f"differs from {block.title}; run: nox -s tangle, or to keep "
                "an edit made there: nox -s tangle -- --stitch",
            )

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
        raise DiffersError(
            self.chapter.path,
            (cell.output or cell.code).line,
            f"wrong output; if the new one is right, run: nox -s doctests -- --update-outputs\n{show}",
        )

    def save_figures(self, cell: Cell) -> None:
        pyplot: Any = sys.modules.get("matplotlib.pyplot")
        for number in pyplot.get_fignums() if pyplot else ():
            figure = pyplot.figure(number)
            path = freshness.figure_file(self.chapter, figure.get_label(), self.root)
            if not re.fullmatch(r"[\w-]+", figure.get_label()):
                pyplot.close("all")
                raise self.chapter.error(
                    cell.code, 'a figure without a plain name; write plt.figure("name")'
                )
            drawn = io.StringIO()
            figure.savefig(drawn, metadata={"Date": None})
            write(path, drawn.getvalue())
            self.drawn.add(path)
            pyplot.close(figure)

    def write_outputs(self) -> None:
        """Put what the blocks printed into the chapter (--update-outputs)."""
        if self.outputs and read(self.chapter.path, self.root).text != self.chapter.text:
            print(f"{self.chapter.path}:1: changed while it ran, so nothing was written; run again")
            return
        lines = self.chapter.text.split("\n")
        for cell in reversed(self.chapter.cells):
            if cell.code.line in self.outputs:
                printed = self.outputs[cell.code.line].rstrip("\n")
                fence = "```"
                while fence in printed:
                    fence += "`"
                fresh = [fence + "output", *printed.split("\n"), fence]
                start = end = cell.code.line - 1 + len(cell.code.text.split("\n"))
                if cell.output:
                    start = cell.output.line - 1
                    end = start + len(cell.output.text.split("\n"))
                    if not printed:  # with the blank line before it
                        start = start - 1
                        fresh = []
                else:
                    fresh = ["", *fresh]
                lines[start:end] = fresh
        if self.outputs:
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
        path = os.path.relpath(test.source_path)
        start = frames.index(inside[0]) if inside else len(frames)
        trace = "".join(traceback.format_list(frames[start:]))
        return f"{path}:{line}: this block raises\n{trace}{excinfo.exconly()}"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-outputs", action="store_true", help="rewrite the output blocks of the chapters"
    )


def pytest_configure(config: pytest.Config) -> None:
    global updating
    updating = config.getoption("--update-outputs")


class WrongChapter(pytest.File):
    """A chapter that cannot be read: one error, that says where and why."""

    why = ""

    def collect(self) -> Iterator[pytest.Item]:
        raise self.CollectError(self.why)


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(
    file_path: Path, parent: pytest.Collector
) -> Generator[None, list[pytest.Collector], list[pytest.Collector]]:
    """Check a chapter whole before its blocks are collected, so that none is missed."""
    collectors = yield
    if re.match(r"\d\d-.*\.md$", file_path.name):
        try:
            session(file_path)
        except ChapterError as error:
            wrong = WrongChapter.from_parent(parent, path=file_path)
            wrong.why = str(error)
            return [wrong]
    return collectors


def pytest_itemcollected(item: pytest.Item) -> None:
    """Let `-k` find a block by the names that it binds and the heading above it."""
    path = item.path
    if path not in SESSIONS or not hasattr(item, "start_line"):
        return
    above = ""
    for block in SESSIONS[path].chapter.blocks:
        if block.kind == "heading":
            above = heading(block)[2]
        elif block.line == item.start_line:
            bound = names(block.body, path, block.line, imports=False)
            item.extra_keyword_matches.update([above, *bound])


def pytest_sessionfinish() -> None:
    for chapter in SESSIONS.values():
        chapter.write_outputs()
