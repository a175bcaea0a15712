"""How the package hangs together: what imports what, and what is public.

A unit is a module at the top of the package, or a folder with all its modules.
The rules are functions of a package's source, so that each can be seen to fail
on a package made for it.
"""

import ast
import graphlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from literate.chapter import PACKAGE, ROOT, names


MOST_LINES = 350
# From the ground up: a unit imports only those before it.
FLOORS = (
    *(
        "_errors",
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


def cycles(package: dict[str, str]) -> Iterator[str]:
    """Units that import one another."""
    try:
        graphlib.TopologicalSorter(graph(package)).prepare()
    except graphlib.CycleError as error:
        yield " imports ".join(reversed(error.args[1]))


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


def test_no_units_import_one_another(package: dict[str, str]) -> None:
    assert list(cycles(package)) == []


def test_nothing_imports_what_stands_above(package: dict[str, str]) -> None:
    assert {*graph(package)} == {*FLOORS}
    assert list(upward(package)) == []


def test_every_name_is_listed_or_private(package: dict[str, str]) -> None:
    assert list(unlisted(package)) == []


def test_no_module_is_longer_than_a_concept(package: dict[str, str]) -> None:
    assert list(overlong(package)) == []


def test_imports_are_found_wherever_they_stand() -> None:
    source = """
import attention_book._checks as checks
from attention_book import compute, Transformer
from attention_book.data.batches import pad
import torch.nn

def later():
    from ..training import loop
    from . import beam
"""
    found = imported("generation/strategies.py", source)
    assert found == {
        "_checks", "compute", "Transformer", "data", "training", "generation"
    }  # fmt: skip
    parts = {
        "generation/strategies.py": source,
        "compute.py": "",
        "__init__.py": "",
    }
    assert graph(parts)["generation"] == {"", "compute"}


def test_a_cycle_is_seen() -> None:
    parts = {
        "compute.py": "from attention_book.data.batches import pad",
        "data/batches.py": "import attention_book.attention.packed",
        "attention/packed.py": "def f():\n    from attention_book import compute",
    }
    (fault,) = cycles(parts)
    assert fault.count(" imports ") == 3
    parts["attention/packed.py"] = "from attention_book.attention import f"
    assert list(cycles(parts)) == []


@pytest.mark.parametrize(
    ("importer", "other", "right"),
    [
        ("attention", "_checks", True),
        ("models", "attention", True),
        ("", "io", True),
        ("cli", "", True),
        ("attention", "models", False),
        ("models", "training", False),
        ("io", "", False),
        ("", "cli", False),
    ],
)
def test_an_import_of_what_stands_above_is_seen(
    importer: str, other: str, right: bool
) -> None:
    source = f"import attention_book.{other}".strip(".")
    parts = {f"{importer or '__init__'}.py": source}
    parts |= {f"{other or '__init__'}.py": ""}
    assert (list(upward(parts)) == []) == right


@pytest.mark.parametrize(
    ("source", "faults"),
    [
        ('__all__ = ["f"]\n\n\ndef f(): ...', []),
        ("def _f(): ...", ["m.py has no __all__"]),
        ("__all__ = []\nimport torch", []),
        ("__all__ = []\nA: int = 3", ["m.py defines A, neither listed nor private"]),
        ("__all__ = []\nA, _b = 1, 2", ["m.py defines A, neither listed nor private"]),
        ("__all__ = []\nclass C: ...", ["m.py defines C, neither listed nor private"]),
        ('__all__ = ["f"]', ["m.py lists f, and does not define it"]),
        ('import f\n__all__ = ["f"]', ["m.py lists f, and does not define it"]),
    ],
)  # fmt: skip
def test_a_name_that_is_neither_listed_nor_private_is_seen(
    source: str, faults: list[str]
) -> None:
    assert list(unlisted({"m.py": source})) == faults


def test_a_folder_lists_what_it_gathers() -> None:
    source = "from attention_book.data.batches import pad"
    parts = {"corpus/__init__.py": f'{source}\n__all__ = ["pad"]'}
    assert list(unlisted(parts)) == []
    parts = {"corpus/__init__.py": f"{source}\n__all__ = []"}
    (fault,) = unlisted(parts)
    assert fault.startswith("corpus/__init__.py defines pad, neither")
    assert list(unlisted({"cli/__main__.py": source})) == []


def test_a_module_that_is_too_long_is_seen() -> None:
    parts = {"a.py": "x\n" * MOST_LINES, "b.py": "x\n" * (MOST_LINES + 1)}
    assert list(overlong(parts)) == ["b.py has 351 lines, more than 350"]
