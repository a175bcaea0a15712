"""How the package hangs together: what imports what, and what is public.

A unit is a module at the top of the package, or a folder with all its modules.
The rules are functions of a package's source, so that they can be seen to fail
on a package made for them.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from literate.blocks import names
from literate.chapter import PACKAGE, ROOT


MOST_LINES = 350
# From the ground up: a unit imports only those before it.
FLOORS = (
    *(
        "_checks",
        "compute",
        "attention",
        "tokenizers",
        "data",
        "models",
    ),
    *("training", "io", "generation", "evaluation", "interpret"),
    *("profiling", "", "cli"),
)
AT_ROOT = {"__init__": "", "__main__": "cli"}


def unit_of(path: str) -> str:
    """`corpus` for corpus/batches.py, `scoring` for scoring.py, "" for the root."""
    unit = path.split("/")[0].removesuffix(".py")
    return AT_ROOT.get(unit, unit)


def imported(path: str, source: str) -> set[str]:
    """The units that a module imports, wherever in it the import stands."""
    folder = [PACKAGE, *path.split("/")[:-1]]
    found: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        modules: list[str] = []
        if isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            above = (
                folder[: len(folder) - node.level + 1] if node.level else []
            )
            module = ".".join([*above, *filter(None, [node.module])])
            modules = [module]
            if module == PACKAGE:  # a unit, or a name of the root
                modules = [f"{PACKAGE}.{alias.name}" for alias in node.names]
        for name in modules:
            first, _, rest = name.partition(".")
            if first == PACKAGE:
                found.add(rest.split(".")[0])
    return found


def graph(package: dict[str, str]) -> dict[str, set[str]]:
    """What each unit imports of the others; a name that is no unit is the root's."""
    units = {unit_of(path) for path in package}
    edges: dict[str, set[str]] = {unit: set() for unit in units}
    for path, source in package.items():
        found = imported(path, source)
        edges[unit_of(path)] |= {x if x in units else "" for x in found}
    return {unit: edges[unit] - {unit} for unit in sorted(units)}


def upward(package: dict[str, str]) -> Iterator[str]:
    """Imports of what stands above, in FLOORS."""
    for unit, others in graph(package).items():
        for other in sorted(others):
            if FLOORS.index(other) >= FLOORS.index(unit):
                yield f"{unit or 'the root'} imports {other or 'the root'}"


def listed(source: str) -> list[str] | None:
    """What a module's __all__ says, if there is one."""
    for node in ast.parse(source).body:
        match node:
            case ast.Assign(targets=[ast.Name(id="__all__")], value=value):
                return list(ast.literal_eval(value))
    return None


def unlisted(package: dict[str, str]) -> Iterator[str]:
    """Modules without __all__, and names that are neither in it nor private."""
    for path, source in package.items():
        if path == "__init__.py" or path.endswith("__main__.py"):
            continue
        gathers = path.endswith("__init__.py")
        bound = set(names(source, Path(path), 0, imports=gathers))
        bound.discard("TYPE_CHECKING")  # as Python's own modules call it
        public = listed(source)
        if public is None:
            if bound or not gathers:
                yield f"{path} has no __all__"
            continue
        for name in sorted(set(public) - bound):
            yield f"{path} lists {name}, and does not define it"
        for name in sorted(bound - set(public)):
            if not name.startswith("_"):
                yield f"{path} defines {name}, neither listed nor private"


def overlong(package: dict[str, str]) -> Iterator[str]:
    """Modules of more lines than a concept takes."""
    for path, source in package.items():
        lines = source.count("\n")
        if lines > MOST_LINES:
            yield f"{path} has {lines} lines, more than {MOST_LINES}"


@pytest.fixture(scope="module")
def package() -> dict[str, str]:
    """The source of each module, by its path in the package."""
    root = ROOT / PACKAGE
    return {
        path.relative_to(root).as_posix(): path.read_text("utf-8")
        for path in sorted(root.rglob("*.py"))
    }


def test_nothing_imports_what_stands_above(package: dict[str, str]) -> None:
    assert {*graph(package)} == {*FLOORS}
    assert list(upward(package)) == []


def test_every_name_is_listed_or_private(package: dict[str, str]) -> None:
    assert list(unlisted(package)) == []


def test_no_module_is_longer_than_a_concept(package: dict[str, str]) -> None:
    assert list(overlong(package)) == []


def test_faults_are_seen() -> None:
    parts = {
        "__init__.py": "import attention_book.cli",
        "cli/train.py": "__all__ = []\nfrom attention_book import Transformer",
        "compute.py": "__all__ = []\n" + "x\n" * MOST_LINES,
        "data/batches.py": """
__all__ = ["pad", "none"]
import attention_book._checks as checks
def pad(): from ..training import loop
A, _b = 1, 2
""",
        "training/loop.py": "def f(): from . import config",
        "_checks.py": "__all__ = []",
    }
    assert imported("data/batches.py", parts["data/batches.py"]) == {
        "_checks", "training"
    }  # fmt: skip
    assert [*upward(parts)] == [
        "the root imports cli",
        "data imports training",
    ]
    assert [*unlisted(parts)] == [
        "data/batches.py lists none, and does not define it",
        "data/batches.py defines A, neither listed nor private",
        "training/loop.py has no __all__",
    ]
    (fault,) = overlong(parts)
    assert fault.startswith("compute.py has 351 lines")
