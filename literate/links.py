"""Find links that lead nowhere: to a page, a heading, a figure, an API entry."""

import posixpath
import re
from collections.abc import Iterator
from pathlib import Path

from literate.blocks import heading
from literate.chapter import CHAPTERS, ROOT, Chapter, dotted, names, read, read_all


LINK = re.compile(r"""\]\(\s*([^)\s]+)(?:\s+["'][^)]*["'])?\s*\)|(?:href|src)=["']([^"']+)""")
REFERENCE = re.compile(r"\]\[([\w.]+)\]|\[([\w.]+)\]\[\]")
CODE = re.compile(r"(`+)[^`]*\1")


def pages(root: Path = ROOT) -> list[Path]:
    """Every page that a reader meets, the README among them."""
    found = sorted((root / "docs").glob("**/*.md"))
    return [Path("README.md"), *(path.relative_to(root) for path in found)]


def dead_links(root: Path = ROOT) -> list[str]:
    """Each link that leads nowhere, with file:line and what is missing."""
    every = {path: read(path, root) for path in pages(root)}
    anchors = {
        path.as_posix(): {heading(block)[2] for block in page.blocks if block.kind == "heading"}
        for path, page in every.items()
    }
    chapters = read_all(root)
    drawn = {
        (CHAPTERS / figure).as_posix() for chapter in chapters for _, figure in chapter.figures()
    }
    return [
        f"{path.as_posix()}:{line}: {problem}"
        for path, page in every.items()
        for line, target in _links(page)
        if (problem := _problem(root, path, target, anchors, drawn))
    ] + [
        f"{path.as_posix()}:{line}: nothing is called {name}"
        for path, page in every.items()
        for line, name in _references(page)
        if name not in _defined(chapters)
    ]


def _lines(page: Chapter) -> Iterator[tuple[int, str]]:
    for block in page.blocks:
        if block.kind != "code":
            for number, line in enumerate(block.text.split("\n"), block.line):
                yield number, CODE.sub("code", line)


def _links(page: Chapter) -> Iterator[tuple[int, str]]:
    for number, line in _lines(page):
        for target in ("".join(found) for found in LINK.findall(line)):
            if not re.match(r"\w+:", target):  # not to another site
                yield number, target


def _references(page: Chapter) -> Iterator[tuple[int, str]]:
    for number, line in _lines(page):
        for found in REFERENCE.findall(line):
            yield number, "".join(found)


def _defined(chapters: list[Chapter]) -> set[str]:
    return {
        f"{dotted(block.title)}.{name}"
        for chapter in chapters
        for block in chapter.titled
        for name in names(block.body, chapter.path, block.line)
    }


def untested(root: Path = ROOT) -> list[str]:
    """Python on a page that no test runs, and chapters that no one would find."""
    found = []
    for path in pages(root):
        if path.parent == CHAPTERS:
            if not re.match(r"\d\d-", path.name):
                found.append(f"{path.as_posix()}:1: not a chapter; call it NN-name.md")
        elif path.name != "README.md":  # whose example has a test
            found += [
                f"{path.as_posix()}:{block.line}: code here is never tested; put it in a chapter"
                for block in read(path, root).blocks
                if block.info.startswith("python")
            ]
    return found


def _problem(
    root: Path,
    page: Path,
    target: str,
    anchors: dict[str, set[str]],
    drawn: set[str],
) -> str:
    file, _, anchor = target.partition("#")
    here = page.parent.as_posix()
    path = posixpath.normpath(f"{here}/{file}") if file else page.as_posix()
    if path not in drawn and not (root / path).exists():
        return f"the link ({target}) is dead: there is no {path}"
    if anchor and anchor not in anchors.get(path, set()):
        known = ", ".join(f"#{name}" for name in sorted(anchors.get(path, ())))
        return f"the link ({target}) is dead: {path} has only {known}"
    return ""
