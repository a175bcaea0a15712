"""Refuse names and words that the book has given up: those of retired.toml."""

import ast
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

from literate.chapter import PACKAGE, ROOT, Chapter, Twin


TABLE = tomllib.loads(Path(__file__).with_name("retired.toml").read_text("utf-8"))
IDENTIFIER = re.compile(rf"(?<![\w])(?:{'|'.join(TABLE['identifiers'])})(?!\w)")
CODE = re.compile(r"`[^`\n]+`")
PYTHON = ("tests", "benchmarks")
ITS_TEST = "tests/test_prose.py"  # which names them on purpose


def in_chapter(chapter: Chapter) -> Iterator[str]:
    """Each retired name in a page's code, and each retired word in its prose."""
    path = chapter.path.as_posix()
    for part in chapter.parts:
        if isinstance(part, Twin):
            yield from _in_prose(path, part.zh.line, part.zh.text, "chinese")
            yield from _in_prose(path, part.en.line, part.en.text, "english")
        elif part.kind == "code" and part.info.startswith(("python", "output")):
            yield from _in_code(path, part.line, part.text)
        elif part.kind == "heading":
            yield from _in_code(path, part.line, " ".join(CODE.findall(part.text)))


def in_files(root: Path = ROOT) -> Iterator[str]:
    """Each retired name in tests and benchmarks, or defined in the package."""
    for folder in PYTHON:
        for path in sorted((root / folder).glob("**/*.py")):
            name = path.relative_to(root).as_posix()
            if name != ITS_TEST:
                yield from _in_code(name, 1, path.read_text("utf-8"))
    for path in sorted((root / PACKAGE).glob("**/*.py")):
        name = path.relative_to(root).as_posix()
        for line, defined in _definitions(ast.parse(path.read_text("utf-8"))):
            if instead := TABLE["definitions"].get(defined.strip("_")):
                yield f"{name}:{line}: `{defined}` is a retired name; use {instead}"


def _in_code(path: str, line: int, text: str) -> Iterator[str]:
    for number, content in enumerate(text.split("\n"), line):
        for found in IDENTIFIER.findall(content):
            instead = TABLE["identifiers"][found]
            yield f"{path}:{number}: `{found}` is a retired name; use {instead}"


def _in_prose(path: str, line: int, text: str, language: str) -> Iterator[str]:
    yield from _in_code(path, line, "\n".join(" ".join(CODE.findall(x)) for x in text.split("\n")))
    bare = CODE.sub("`c`", text)
    for pattern, instead in TABLE[language].items():
        for found in re.finditer(pattern, bare):
            number = line + bare[: found.start()].count("\n")
            yield f"{path}:{number}: `{found[0]}` is a retired word; use {instead}"


def _definitions(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """What a module defines: functions, classes, arguments, attributes, fields, constants."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.lineno, node.name
        elif isinstance(node, ast.arg):
            yield node.lineno, node.arg
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.lineno, node.attr
    classes = [node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    scopes: list[ast.Module | ast.ClassDef] = [tree, *classes]
    for scope in scopes:
        for statement in scope.body:
            targets = getattr(statement, "targets", [getattr(statement, "target", None)])
            for target in targets:
                if isinstance(target, ast.Name):
                    yield target.lineno, target.id
