"""Run the chapters, and remember which passed: a plugin for pytest, beside pytest-markdown-docs.

That plugin finds the Python of every page, each fence a test, and hands it to our runner. A
chapter is one module, each block runs once, in order. A block with a title is not run but
imported from the package, so that its classes are the package's own. What a cell prints is
compared with the `output` block after it, and what it draws is saved. An exercise sees nothing
of all this: its answer must pass its check and its stub must not, in a module of their own.
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
import types
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any
from unittest.mock import patch

import jaxtyping
import pytest
from pytest_markdown_docs._runners import _Runner, get_runner, register_runner
from pytest_markdown_docs.definitions import FenceTestDefinition

from literate import ROOT
from literate.blocks import LANGUAGES, Block, ChapterError, fenced, names
from literate.chapter import PACKAGE, Cell, Chapter, dotted, read
from literate.exercises import Exercise
from literate.plots import figure_svg
from literate.tangle import tangle, write


IMPORTED = re.compile(rf"(?:from|import) ((?:{PACKAGE}|corpora)[.\w]*)")
os.environ.setdefault("MATPLOTLIBRC", str(Path(__file__).with_name("matplotlibrc")))


def digest(chapter: Chapter, root: Path = ROOT) -> str:
    """Of all that decides whether a chapter passes: its code, outputs, figures, what it imports."""
    parts = [b.text for b in chapter.blocks if b.info.startswith(("python", "output"))]
    imports = sorted(imported("\n".join(cell.code.body for cell in chapter.cells), root))
    parts += [*chapter.figures, version("torch"), *(path.read_text("utf-8") for path in imports)]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def imported(source: str, root: Path) -> set[Path]:
    """The files of the package and of corpora that code imports, and those that they import.

    The command line imports by name what a command needs, and so may need the whole package.
    """
    found: set[Path] = set()
    texts = [source]
    while texts:
        for name in IMPORTED.findall(texts.pop()):
            whole = name in (PACKAGE, f"{PACKAGE}.cli", f"{PACKAGE}.__main__")
            place = root / name.replace(".", "/")
            files = {place.with_suffix(".py"), place / "__init__.py"}
            files |= set((root / PACKAGE).glob("**/*.py")) if whole else set()
            new = {file for file in files if file.exists()} - found
            found |= new
            texts += [file.read_text("utf-8") for file in new]
    return found


def stamp(chapter: Chapter, root: Path = ROOT) -> Path:
    """The file that holds the digest of a chapter that passed."""
    return root / ".cache/ran" / chapter.name


def fresh(chapter: Chapter, root: Path = ROOT) -> bool:
    """Whether the chapter passed as it stands, with its figures in place."""
    passed = stamp(chapter, root)
    figures = [root / chapter.path.parent / path for path in chapter.figures]
    saved = [path.with_suffix(f".{edition}.svg") for path in figures for edition in LANGUAGES]
    there = all(path.exists() for path in [passed, *saved])
    return not chapter.cells or (there and passed.read_text("utf-8") == digest(chapter, root))


def same(want: str, got: str) -> bool:
    """Compare by doctest's rules; `...` stands for anything, unless it was printed."""
    rules = doctest.NORMALIZE_WHITESPACE | doctest.DONT_ACCEPT_TRUE_FOR_1
    rules |= 0 if "..." in got else doctest.ELLIPSIS
    return doctest.OutputChecker().check_output(want, got, rules)


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


@contextlib.contextmanager
def as_at_a_reader(printed: io.StringIO) -> Iterator[None]:
    """Keep what is printed, and check no shapes."""
    unchecked = patch.object(jaxtyping.config, "jaxtyping_disable", True)
    with contextlib.redirect_stdout(printed), unchecked:
        yield


class DiffersError(ChapterError):
    """A block is not what the chapter says; those after it can go on all the same."""


def solve(exercise: Exercise, code: Block, path: Path) -> None:
    """Run a stub or an answer in a new module, then the check with the names wanted of it alone.

    Above a step stand in its module, as in a reader's file, the answers of those that it builds on.
    """
    spaces: list[dict[str, Any]] = []
    wanted = [name for one in (*exercise.above, exercise) for name in one.wanted]
    answers = [one.answer for one in exercise.above]
    for blocks in ([*answers, code], [exercise.check]):
        module = types.ModuleType(f"{blocks[-1].role}_{exercise.id}".replace("-", "_"))
        module.__dict__.update({name: spaces[0][name] for name in wanted if spaces})
        sys.modules[module.__name__] = module
        for block in blocks:
            source = "\n" * block.line + block.body
            exec(compile(source, str(path), "exec", dont_inherit=True), module.__dict__)
        spaces.append(module.__dict__)


class Run:
    """A chapter being run: its namespace, and what became of each block so far."""

    def __init__(self, path: Path, *, update: bool = False) -> None:
        """Make a module of the chapter, whose source is the chapter with all but code masked."""
        self.path = path
        self.update = update  # put what is printed into the chapter
        self.root = next(folder for folder in path.parents if (folder / "docs").is_dir())
        self.chapter = read(path.relative_to(self.root), self.root).check()
        clean_slate(self.root)
        stamp(self.chapter, self.root).unlink(missing_ok=True)
        self.results: dict[Cell, BaseException | None] = {}
        self.outputs: dict[Cell, str] = {}  # to be written
        self.drawn: set[str] = set()
        self.module = types.ModuleType("chapter_" + self.chapter.name.replace("-", "_"))
        self.module.__file__ = str(self.path)
        sys.modules[self.module.__name__] = self.module
        lines = ["\n"] * self.chapter.text.count("\n")
        for cell in self.chapter.cells:
            if not cell.code.title:
                code = cell.code.body.splitlines(keepends=True)
                lines[cell.code.line : cell.code.line + len(code)] = code
        linecache.cache[str(self.path)] = (len(lines), None, lines, str(self.path))

    def run_to(self, asked: Cell) -> None:
        """Run a cell, and before it all that did not run yet; an exercise needs no others."""
        cells = self.chapter.cells[: self.chapter.cells.index(asked) + 1]
        for cell in [asked] if asked.code.role else [c for c in cells if not c.code.role]:
            if cell not in self.results:
                self.results[cell] = None
                try:
                    self.run(cell)
                except BaseException as error:  # SystemExit and a skip are no pass either
                    self.results[cell] = error
            result = self.results[cell]
            if isinstance(result, KeyboardInterrupt) or (result and cell is asked):
                raise result
            if result and not isinstance(result, DiffersError):
                fault = f"this block failed, so the one on line {asked.code.line} did not run"
                raise self.chapter.error(cell.code, fault)
        last = next((c for c in reversed(self.chapter.cells) if not c.code.role), None)
        for path, block in self.chapter.figures.items() if asked is last else ():
            if path not in self.drawn:
                fault = f'no block drew {path}; draw it with plt.figure("{Path(path).stem}")'
                raise self.chapter.error(block, fault)
        done = len(self.results) == len(self.chapter.cells)
        if done and not self.outputs and not any(self.results.values()):
            write(stamp(self.chapter, self.root), digest(self.chapter, self.root))

    def run(self, cell: Cell) -> None:
        """Run a cell as what it is."""
        if cell.code.title:
            self.take(cell.code)
        elif cell.code.role:
            self.try_exercise(cell.code)
        else:
            self.execute(cell)

    def try_exercise(self, block: Block) -> None:
        """Run an answer, which must pass the check, or a stub, which must not."""
        exercise = next(e for e in self.chapter.exercises if e.id == block.id)
        if block.role == "check":
            return  # it runs with both
        with as_at_a_reader(io.StringIO()):
            if block.role == "answer":
                solve(exercise, block, self.path)
                return
            with contextlib.suppress(NotImplementedError, AssertionError):
                solve(exercise, block, self.path)
                fault = "its check passes though nothing is written yet; make the check stricter"
                raise self.chapter.error(block, fault)

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

    def execute(self, cell: Cell) -> None:
        """Run a cell, its shapes unchecked, as at a reader's; compare what it prints."""
        source = "\n" * cell.code.line + cell.code.body
        code = compile(source, str(self.path), "exec", dont_inherit=True)
        printed = io.StringIO()
        with as_at_a_reader(printed):
            exec(code, self.module.__dict__)
        self.save_figures(cell)
        got = printed.getvalue()
        want = cell.output.body if cell.output else ""
        if same(want, got):
            return
        if self.update:
            self.outputs[cell] = got
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
            if path not in self.chapter.figures:
                pyplot.close("all")
                fault = "is drawn and never shown; name it with plt.figure, and add"
                raise self.chapter.error(cell.code, f'{path} {fault} ![…]({path} "…")')
            for edition in LANGUAGES:
                try:
                    drawn = figure_svg(figure, edition)
                except ValueError as error:
                    pyplot.close("all")
                    raise self.chapter.error(cell.code, f"{path}: {error}") from error
                saved = (self.path.parent / path).with_suffix(f".{edition}.svg")
                write(saved, drawn)
            self.drawn.add(path)
            pyplot.close(figure)

    def end(self) -> None:
        """Put what the blocks printed into the chapter (--update-outputs)."""
        if not self.outputs:
            return
        if read(self.chapter.path, self.root).text != self.chapter.text:
            fault = "changed while it ran, so nothing was written; run again"
            raise ChapterError(self.chapter.path, 1, fault)
        lines = self.chapter.text.split("\n")
        for cell, printed in sorted(self.outputs.items(), key=lambda item: -item[0].code.line):
            last = cell.output or cell.code
            start = cell.code.line + cell.code.text.count("\n")
            end = last.line + last.text.count("\n")
            lines[start:end] = ["", *fenced("output", printed).split("\n")] if printed else []
        write(self.path, "\n".join(lines))


@register_runner(default=True)
class Chapters(_Runner):
    """What pytest-markdown-docs gives each fence to."""

    def __init__(self) -> None:
        self.update = False
        self.runs: dict[Path, Run] = {}

    def runtest(self, test: FenceTestDefinition, args: dict[str, Any]) -> None:
        """Run a fence, and before it those of its page that did not run yet."""
        path = Path(test.source_path)
        if path not in self.runs:
            self.runs[path] = Run(path, update=self.update)
        run = self.runs[path]
        run.run_to(next(c for c in run.chapter.cells if c.code.line == test.start_line))

    def repr_failure(
        self, test: FenceTestDefinition, excinfo: pytest.ExceptionInfo[Any], style: Any = None
    ) -> Any:
        if isinstance(excinfo.value, ChapterError):
            return str(excinfo.value)
        excinfo.traceback = excinfo.traceback.cut(path=Path(test.source_path))
        return excinfo.getrepr(style="short")

    def end(self, path: Path) -> None:
        """Forget a page that was run to its end."""
        if path in self.runs:
            self.runs.pop(path).end()


def pytest_addoption(parser: pytest.Parser) -> None:
    effect = "rewrite the output blocks of the chapters"
    parser.addoption("--update-outputs", action="store_true", help=effect)


def pytest_configure(config: pytest.Config) -> None:
    """Let Triton interpret its kernels where there is no GPU; it asks when it is imported."""
    if not importlib.import_module("torch").cuda.is_available():
        os.environ.setdefault("TRITON_INTERPRET", "1")
    chapters().update = config.getoption("--update-outputs")


def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    if nextitem is None or nextitem.path != item.path:
        chapters().end(item.path)


def chapters() -> Chapters:
    """Our runner, as pytest-markdown-docs keeps it."""
    runner: Any = get_runner(None)
    return runner
