"""Break the code in small ways, one at a time: do the tests see it?

    python -m tests.mutants --n 400 --seed 1 --log mutants.jsonl

A mutant changes one place of a module (a comparison, a number, a keyword, a
statement …) in a copy of the tree, and in its chapter. First the tests of the
module run, then its chapter, then all tests that name it, each until the first
failure. A mutant that survives them shows a test that is missing, or changes
nothing. The log has one line a mutant, in an order that the seed decides; a
run that was cut off goes on from it.
"""

import argparse
import ast
import json
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from literate.chapter import read
from literate.tangle import stitch, tangle


TREES = ("attention_book", "literate")
TIME_LIMIT = 200  # seconds of a processor for one file of tests
NAMES = {  # tests of a module or room that need not name it
    "__init__": ("package",),
    "__main__": ("command",),
    "_checks": ("checks", "bad_input"),
    "blocks": ("chapter",),
    "cli": ("cli", "cli_exercises"),
    "hooks": ("build",),
    "io": ("checkpoints", "hostile_files"),
}
COMPARISONS = {
    ast.Lt: "<=",
    ast.LtE: "<",
    ast.Gt: ">=",
    ast.GtE: ">",
    ast.Eq: "!=",
    ast.NotEq: "==",
    ast.Is: "is not",
    ast.IsNot: "is",
    ast.In: "not in",
    ast.NotIn: "in",
}
ARITHMETIC = {
    ast.Add: "-",
    ast.Sub: "+",
    ast.Mult: "/",
    ast.Div: "*",
    ast.FloorDiv: "*",
    ast.Mod: "*",
}
BOOLEANS = {ast.And: "or", ast.Or: "and"}
CALLS = {"any": "all", "all": "any", "min": "max", "max": "min"}


class Mutant(NamedTuple):
    """One small change of one file."""

    path: str
    line: int
    old: str
    new: str
    start: int  # offsets in the file's bytes
    end: int
    kind: str


class _Source:
    """A module's text, from which nodes can be cut."""

    def __init__(self, path: Path) -> None:
        self.data = path.read_bytes()
        self.tree = ast.parse(self.data)
        self.begins = [0]
        for line in self.data.splitlines(keepends=True):
            self.begins.append(self.begins[-1] + len(line))

    def span(self, node: ast.AST) -> tuple[int, int]:
        """Where a node begins and ends."""
        start = self.begins[node.lineno - 1] + node.col_offset
        return start, self.begins[node.end_lineno - 1] + node.end_col_offset

    def cut(self, start: int, end: int) -> str:
        """The text between two offsets."""
        return self.data[start:end].decode()

    def between(
        self, kind: str, left: ast.AST, right: ast.AST, new: str
    ) -> Iterator[tuple[str, int, int, str]]:
        """The change of an operator, where nothing else is between."""
        start, end = self.span(left)[1], self.span(right)[0]
        if not re.search(r"[()]", self.cut(start, end)):
            yield kind, start, end, f" {new} "

    def changes(self, node: ast.AST) -> Iterator[tuple[str, int, int, str]]:
        """Yield kind, start, end and new text of each change of a node."""
        match node:
            case ast.Compare(left, [operator], [right]):
                new = COMPARISONS[type(operator)]
                yield from self.between("comparison", left, right, new)
            case ast.BoolOp(operator, [left, right]):
                new = BOOLEANS[type(operator)]
                yield from self.between("boolean", left, right, new)
            case ast.UnaryOp(ast.Not(), operand):
                new = f"({self.cut(*self.span(operand))})"
                yield "not", *self.span(node), new
            case ast.BinOp(left, operator, right) if not (
                _is_text(left) or _is_text(right)
            ):
                new = ARITHMETIC.get(type(operator))
                if new:
                    yield from self.between("arithmetic", left, right, new)
            case ast.Call(function, _, keywords):
                for keyword in keywords:
                    if keyword.arg is not None:
                        start, end = self.span(keyword)
                        comma = re.match(rb"\s*,", self.data[end:])
                        end += comma.end() if comma else 0
                        yield "keyword", start, end, ""
                name = self.cut(*self.span(function))
                if name in CALLS:
                    yield "call", *self.span(function), CALLS[name]
            case ast.If(test):
                start, end = self.span(test)
                yield "condition", start, end, f"not ({self.cut(start, end)})"
            case ast.AugAssign() | ast.Expr(ast.Call()):
                yield "statement", *self.span(node), "pass"
            case ast.Constant(bool() as value):
                yield "truth", *self.span(node), str(not value)
            case ast.Constant(int() as value):
                yield "number", *self.span(node), str(value + 1)
            case ast.Constant(float() as value):
                yield "number", *self.span(node), repr(value * 2 or 1.0)


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.JoinedStr) or (
        isinstance(node, ast.Constant) and isinstance(node.value, str)
    )


def find_mutants(path: Path) -> list[Mutant]:
    """All mutants of a file, outside of formatted texts and of types."""
    source = _Source(path)
    lines = source.data.decode().splitlines()
    formatted = {
        part
        for node in ast.walk(source.tree)
        if isinstance(node, ast.JoinedStr)  # wrong places before Python 3.12
        for part in ast.walk(node)
    }
    mutants = []
    for node in ast.walk(source.tree):
        if node in formatted:
            continue
        for kind, start, end, new in source.changes(node):
            line = source.data[:start].count(b"\n") + 1
            if not re.search(r"Annotated|Literal\[", lines[line - 1]):
                old = source.cut(start, end)
                place = (str(path), line, old, new, start, end)
                mutants.append(Mutant(*place, kind))
    return mutants


def draw(n: int, seed: int) -> list[Mutant]:
    """Draw mutants from all there are, no two in one line."""
    files = [path for tree in TREES for path in Path(tree).rglob("*.py")]
    found = [mutant for path in sorted(files) for mutant in find_mutants(path)]
    random.Random(seed).shuffle(found)
    chosen: dict[tuple[str, int], Mutant] = {}
    for mutant in found:
        chosen.setdefault((mutant.path, mutant.line), mutant)
    return list(chosen.values())[:n]


def find_stages(path: Path) -> list[list[str]]:
    """The tests of a module, its chapter, all other tests that name it."""
    module = ".".join(path.with_suffix("").parts)
    top = path.with_suffix("").parts[1]
    room = f"{path.parts[0]}.{top}"
    texts = {
        test: test.read_text("utf-8")
        for test in sorted(Path("tests").glob("test_*.py"))
    }
    own = [Path(f"tests/test_{name}.py") for name in NAMES.get(top, (top,))]
    own += [x for x, text in texts.items() if module in text and x not in own]
    others = [x for x, text in texts.items() if room in text]
    stages = [
        [test for test in own if test.exists()],
        [chapter] if (chapter := find_chapter(path)) else [],
        [test for test in others if test not in own],
    ]
    return [[str(test) for test in stage] for stage in stages if stage]


def find_chapter(path: Path) -> Path | None:
    """The chapter that a module's first line names, if it has one."""
    head = path.read_text("utf-8").partition("\n")[0]
    match = re.search(r"docs/[\w/-]+\.md", head)
    return Path(match[0]) if match else None


def apply(mutant: Mutant) -> bool:
    """Write a mutant into the tree and its chapter, if that is possible."""
    path = Path(mutant.path)
    data = path.read_bytes()
    changed = data[: mutant.start] + mutant.new.encode() + data[mutant.end :]
    chapter = find_chapter(path)
    try:
        compile(changed, str(path), "exec")
        if chapter:
            page = read(chapter, Path.cwd())
            new = stitch(page, mutant.path, changed.decode())
            chapter.write_text(new, "utf-8")
            text = tangle(read(chapter, Path.cwd()), mutant.path)
            changed = text.encode()
    except (ValueError, SyntaxError):
        return False
    path.write_bytes(changed)
    return True


def _prepare(limit: int) -> None:
    """Limit a new process, and let Ctrl-C end it though all is in background."""
    resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def run_tests(stage: list[str]) -> tuple[int | None, str]:
    """Status (None: it took too long) and output of tests, to a failure.

    A loop without end is killed by its limit, and what waits for nothing
    when it has waited five times as long.
    """
    limit = TIME_LIMIT * len(stage)
    command = [sys.executable, "-m", "literate.test", *stage]
    command += ["-n", "0", "-x", "-p", "no:cacheprovider"]
    environment = os.environ | {
        "OMP_NUM_THREADS": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONPATH": str(Path.cwd()),
    }
    with subprocess.Popen(
        command,
        env=environment,
        preexec_fn=lambda: _prepare(limit),
        start_new_session=True,  # so that what the tests start ends as well
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        try:
            output, _ = process.communicate(timeout=5 * limit)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            return None, process.communicate()[0]
        return process.returncode, output


def try_mutant(mutant: Mutant, n_stages: int | None) -> tuple[str, str]:
    """Return killed, timeout, survived or invalid, and by which test."""
    stages = find_stages(Path(mutant.path))[:n_stages]
    if not apply(mutant):
        return "invalid", ""
    for stage in stages:
        status, output = run_tests(stage)
        if status is None:
            return "timeout", stage[0]
        if status:
            names = re.findall(r"^(?:FAILED|ERROR) (\S+)", output, re.M)
            return "killed", (names or [f"{stage[0]}, status {status}"])[0]
    return "survived", ""


def main() -> None:
    """Draw mutants, try each in a copy of the tree, write a line for each."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants")
    parser.add_argument("--n", type=int, default=400)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--stages", type=int, help="so many at most")
    parser.add_argument("--log", type=Path, default=Path("mutants.jsonl"))
    options = parser.parse_args()
    log = options.log.absolute()
    lines = log.read_text("utf-8").splitlines() if log.exists() else []
    done = [Mutant(*json.loads(line)["mutant"]) for line in lines]
    mutants = draw(options.n, options.seed)
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / "book"
        ignored = shutil.ignore_patterns(".*", "__pycache__", "dist", "site")
        shutil.copytree(Path.cwd(), tree, ignore=ignored)
        os.chdir(tree)
        for mutant in (mutant for mutant in mutants if mutant not in done):
            path = Path(mutant.path)
            files = [path, find_chapter(path) or path]
            before = [(file, file.read_bytes()) for file in files]
            outcome, where = try_mutant(mutant, options.stages)
            for file, data in before:
                file.write_bytes(data)
            found = {"outcome": outcome, "where": where, "mutant": mutant}
            with log.open("a", encoding="utf-8") as out:
                out.write(json.dumps(found, ensure_ascii=False) + "\n")
        os.chdir(log.parent)


if __name__ == "__main__":
    main()
