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

from literate.chapter import PACKAGE, ROOT, WORKSHOP, names, read_all


MOST_LINES = 350
FOUNDATIONS = ("checks", "runtime")
FIRST = ("pooling", "scoring")
SECOND = ("caches", "padding")
AT_ROOT = {"__init__": "", "_api": "", "__main__": "cli"}
LAST = ("", "cli")  # the root gathers all but the command line
READS_FILES = {"io": 34}  # all that is saved and loaded


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


def layer(unit: str, chapters: dict[str, int]) -> tuple[int, int]:
    """Where a unit stands; it may import only what stands before it."""
    order = (FOUNDATIONS, FIRST, SECOND)
    for number, units in enumerate(order):
        if unit in units:
            return number, chapters[unit]
    if unit in LAST:
        return len(order) + 2, LAST.index(unit)
    return len(order) + (chapters[unit] >= WORKSHOP), chapters[unit]


def upward(package: dict[str, str], chapters: dict[str, int]) -> Iterator[str]:
    """Imports of what is explained later."""
    for unit, others in graph(package).items():
        for other in sorted(others):
            if layer(other, chapters) >= layer(unit, chapters):
                yield (
                    f"{unit} (chapter {chapters[unit]}) imports "
                    f"{other} (chapter {chapters[other]})"
                )


def listed(source: str) -> list[str] | None:
    """What a module's __all__ says, if there is one."""
    for node in ast.parse(source).body:
        match node:
            case ast.Assign(targets=[ast.Name(id="__all__")], value=value):
                return list(ast.literal_eval(value))
            case ast.If(
                body=[*_, ast.ImportFrom(names=[ast.alias(name="__all__")])]
            ):
                return []  # it defines none, and passes on another's
    return None


def unlisted(package: dict[str, str]) -> Iterator[str]:
    """Modules without __all__, and names that are neither in it nor private."""
    for path, source in package.items():
        if path.endswith("__main__.py"):
            continue
        gathers = path.endswith(("__init__.py", "_api.py"))
        bound = set(names(source, Path(path), 0, imports=gathers))
        bound.discard("TYPE_CHECKING")  # as Python's own modules call it
        public = listed(source)
        if public is None:
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


@pytest.fixture(scope="module")
def chapters() -> dict[str, int]:
    """The number of the chapter that bears each unit's name.

    The workshop may explain files of it, or the module itself, later.
    """
    found = {
        unit_of(chapter.module.removeprefix(f"{PACKAGE}/")): chapter.number
        for chapter in read_all()
    }
    return found | READS_FILES


def test_no_units_import_one_another(package: dict[str, str]) -> None:
    assert list(cycles(package)) == []


def test_nothing_imports_what_is_explained_later(
    package: dict[str, str], chapters: dict[str, int]
) -> None:
    assert list(upward(package, chapters)) == []


def test_every_name_is_listed_or_private(package: dict[str, str]) -> None:
    assert list(unlisted(package)) == []


def test_no_module_is_longer_than_a_concept(package: dict[str, str]) -> None:
    assert list(overlong(package)) == []


def test_imports_are_found_wherever_they_stand() -> None:
    source = """
import attention_book._checks as checks
from attention_book import caches, Transformer
from attention_book.data.batches import pad
import torch.nn

def later():
    from ..training import loop
    from . import beam
"""
    found = imported("decoding/strategies.py", source)
    assert found == {
        "checks", "caches", "Transformer", "corpus", "training", "decoding"
    }  # fmt: skip
    parts = {
        "decoding/strategies.py": source,
        "caches.py": "",
        "__init__.py": "",
    }
    assert graph(parts)["decoding"] == {"", "caches"}


def test_a_cycle_is_seen() -> None:
    parts = {
        "scoring.py": "from attention_book.data.batches import pad",
        "corpus/batches.py": "import attention_book.attention.packed",
        "padding.py": "def f():\n    from attention_book import scoring",
    }
    (fault,) = cycles(parts)
    assert fault.count(" imports ") == 3
    parts["padding.py"] = "from attention_book.attention.packed import f"
    assert list(cycles(parts)) == []


@pytest.mark.parametrize(
    ("importer", "other", "right"),
    [
        ("scoring", "checks", True),
        ("caches", "runtime", True),
        ("padding", "caches", True),
        ("multi_head", "caches", True),
        ("encoder", "multi_head", True),
        ("io", "vit", True),
        ("", "io", True),
        ("cli", "", True),
        ("scoring", "pooling", True),
        ("checks", "scoring", False),
        ("pooling", "scoring", False),
        ("scoring", "caches", False),
        ("caches", "multi_head", False),
        ("multi_head", "encoder", False),
        ("vit", "io", False),
        ("io", "", False),
        ("vit", "cli", False),
        ("", "cli", False),
    ],
)
def test_an_import_of_what_is_explained_later_is_seen(
    importer: str, other: str, right: bool
) -> None:
    chapters = {
        "": 0,
        "pooling": 1,
        "scoring": 2,
        "multi_head": 5,
        "encoder": 8,
        "vit": 15,
        "checks": 30,
        "caches": 31,
        "padding": 32,
        "io": 34,
        "runtime": 38,
        "cli": 40,
    }
    parts = {
        f"{importer or '__init__'}.py": f"import attention_book.{other}".strip(
            "."
        )
    }
    parts |= {f"{other or '__init__'}.py": ""}
    faults = list(upward(parts, chapters))
    assert (faults == []) == right
    if not right:
        says = f"{importer} (chapter {chapters[importer]}) imports {other} "
        assert faults[0].startswith(says)


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


def test_the_root_may_pass_on_what_another_lists() -> None:
    source = (
        "if TYPE_CHECKING:\n    from a import *\n    from a import __all__"
    )
    assert list(unlisted({"__init__.py": source})) == []
    (fault,) = unlisted({"__init__.py": f"{source}\nf = 1"})
    assert fault.startswith("__init__.py defines f, neither")


def test_a_module_that_is_too_long_is_seen() -> None:
    parts = {"a.py": "x\n" * MOST_LINES, "b.py": "x\n" * (MOST_LINES + 1)}
    assert list(overlong(parts)) == ["b.py has 351 lines, more than 350"]
