"""What the package promises as a package."""

import inspect
import re
import tomllib
from pathlib import Path

import attention_book
from literate.chapter import PACKAGE, ROOT, read


def test_every_public_name_is_exported_and_documented() -> None:
    assert sorted(attention_book.__all__) == attention_book.__all__
    for name in attention_book.__all__:
        thing = getattr(attention_book, name)
        assert inspect.getdoc(thing)
        assert thing.__module__.startswith("attention_book.")


def test_the_version_stands_in_one_place() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["dynamic"] == ["version"]
    changelog = (ROOT / "CHANGELOG.md").read_text()
    assert f"\n## {attention_book.__version__}" in changelog


def test_the_readmes_example_runs() -> None:
    page = read(Path("README.md"))
    (example,) = (b for b in page.blocks if b.info == "python")
    names: dict[str, object] = {}
    exec(example.body, names)
    assert names["y"].shape == names["x"].shape


def test_the_package_is_typed_and_silent() -> None:
    assert (ROOT / PACKAGE / "py.typed").exists()
    for path in (ROOT / PACKAGE).glob("*.py"):
        assert not re.search(r"(?<![.\w])print\(", path.read_text("utf-8"))
