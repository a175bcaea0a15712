"""corpora.help_pages: what help() shows."""

import sys
from pathlib import Path

import pytest

from corpora.help_pages import read_help


LONG = "It is long enough to be a paragraph of prose, is it not?"


def write_package(folder: Path) -> None:
    """Write a package whose files must not be imported."""
    (folder / "pkg/tests").mkdir(parents=True)
    (folder / "pkg/__init__.py").write_text(
        f'"""The module. {LONG}\n\n    Spaces   and\n    lines. {LONG}\n\n'
        f">>> {LONG}\n\nshort.\n\n- an item, {LONG}\n\nno sentence: {LONG};"
        f'"""\nraise SystemExit\n\nclass A:\n    """The class. {LONG}"""\n'
        f'    def f(self):\n        """The method. {LONG}"""\n'
        f'    async def g(self):\n        """The coroutine. {LONG}"""\n'
        f'        x = "\\d"; """No docstring. {LONG}"""\n',
        "utf-8",
    )
    (folder / "pkg/again.py").write_text(
        f'"""The class. {LONG}\n\nMore. {LONG}\n\nMore. {LONG}"""\n'
    )
    (folder / "pkg/broken.py").write_text(f'"""Broken. {LONG}"""\n(')
    (folder / "pkg/bytes.py").write_bytes(b'"""\xff\x00"""')
    (folder / "pkg/tests/a.py").write_text(f'"""A test. {LONG}"""\n')


def test_help_pages_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_package(tmp_path / "mine")
    library = tmp_path / "lib"
    for name in ("json/a.py", "site-packages/b.py", "c.py"):
        path = library / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f'"""Of {name}. {LONG}"""\n')
    monkeypatch.syspath_prepend(tmp_path / "mine")
    monkeypatch.setattr("sysconfig.get_path", {"stdlib": library}.get)
    found = read_help(["pkg"])
    assert [x for x in found if not x.startswith("topics/")] == [
        "c.py",
        "json/a.py",
        "pkg/__init__.py",
        "pkg/again.py",
    ]
    assert found["pkg/__init__.py"] == [
        f"The module. {LONG}",
        f"Spaces and lines. {LONG}",
        f"The class. {LONG}",
        f"The method. {LONG}",
        f"The coroutine. {LONG}",
    ]
    assert found["pkg/again.py"] == [f"More. {LONG}"]
    assert "pkg" not in sys.modules
    assert list(read_help("pkg").items()) == list(found.items())
    assert next(iter(found)) == "topics/assert"
    assert any("statement" in text for text in found["topics/del"])
    texts = [text for page in found.values() for text in page]
    assert len(texts) == len(set(texts)) > 800
    assert all(text == " ".join(text.split()) for text in texts)


@pytest.mark.parametrize("name", ["no_such", "no.such", "", "gettext", 5])
@pytest.mark.usefixtures("unchecked")
def test_help_of_no_package_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match=f"such as .*, got {name!r}"):
        read_help([name])
