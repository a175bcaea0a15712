"""Make the package of the chapters (tangle), or the chapters of the package (stitch).

    python -m literate.tangle             write attention_book/ from the chapters
    python -m literate.tangle --check     only say whether the two agree
    python -m literate.tangle --stitch    carry edits made in the .py files back
    python -m literate.tangle --force     overwrite edits made in the .py files

The first line of a tangled module holds a digest of the rest. It tells an edited
module from one that is merely older than its chapter. The exercises go into one
file, attention_book/exercises.json, which is made of the chapters and never edited.
Blocks of JavaScript become the scripts of docs/assets/live/ in the same way.
"""

import argparse
import hashlib
import json
import re
import sys
from dataclasses import replace
from difflib import SequenceMatcher
from itertools import zip_longest
from pathlib import Path
from typing import Any

from literate import ROOT
from literate.blocks import ChapterError, heading, names
from literate.chapter import PACKAGE, Chapter, read_all, read_text
from literate.references import refer


EXERCISES = f"{PACKAGE}/exercises.json"
GAP = "\n\n\n"  # two blank lines, as between any two top-level definitions


def tangle(chapter: Chapter, module: str) -> str:
    """The text of one of the modules that the chapter defines."""
    body = GAP.join(block.body.strip("\n") for block in chapter.files[module])
    how = "Edit the chapter, or edit here and run: nox -s tangle -- --stitch"
    mark = "#" if module.endswith(".py") else "//"
    return f"{mark} Made from {chapter.path.as_posix()} ({_digest(body)}). {how}\n{body}\n"


def _digest(body: str) -> str:
    return hashlib.sha256(body.encode()).hexdigest()[:12]


def _parse(text: str) -> tuple[str, str]:
    """The digest in a module's first line, and its body."""
    header = re.match(r"(?:#|//) Made from \S+ \((\w+)\)\. .*\n", text)
    digest, end = (header[1], header.end()) if header else ("", 0)
    return digest, text[end:].rstrip("\n")


def edited(text: str, want: str) -> bool:
    """Whether a module was changed since it was tangled, and into what its chapter has not."""
    digest, body = _parse(text)
    return bool(text) and digest != _digest(body) and body != _parse(want)[1]


def stitch(chapter: Chapter, name: str, text: str) -> str:
    """The chapter's text with the edits made in one of its modules.

    An edit is carried back only where one block must own it. Pieces of code
    between double blank lines are compared, old against new.

    Raises:
        ChapterError: the chapter changed too, or an edit could belong to two blocks.
    """
    module, path = Path(name), chapter.path.as_posix()
    if module.suffix == ".py":
        names(text, module, 0)  # refuses what is no Python
    digest, body = _parse(text)
    if digest != _digest(_parse(tangle(chapter, name))[1]):
        fault = f"both this file and {path} changed since they were tangled"
        raise ChapterError(module, 1, f"{fault}; undo one, or merge by hand")
    blocks = chapter.files[name]
    old = [(piece, i) for i, b in enumerate(blocks) for piece in b.body.strip("\n").split(GAP)]
    new = body.split(GAP)
    owned: list[list[str]] = [[] for _ in blocks]
    matcher = SequenceMatcher(None, [piece for piece, _ in old], new, autojunk=False)
    for _, i1, i2, j1, j2 in matcher.get_opcodes():
        owners = [owner for _, owner in old[i1:i2]]
        if j1 != j2 and len(owners) != j2 - j1:  # neither deleted nor piece for piece
            near = sorted({owner for _, owner in old[max(i1 - 1, 0) : i2 + 1]})
            if len(near) > 1:
                line = 2 + GAP.join(new[:j1]).count("\n") + (3 if j1 else 0)
                places = " or ".join(str(blocks[i].line) for i in near)
                fault = f"cannot tell which block owns this edit, that of line {places} of {path}"
                raise ChapterError(module, line, f"{fault}; make it in the chapter")
            owners = near * (j2 - j1)
        for owner, piece in zip(owners, new[j1:j2], strict=False):
            owned[owner].append(piece)
    lines = chapter.text.split("\n")
    for block, pieces in reversed(list(zip(blocks, owned, strict=True))):
        if GAP.join(pieces) != block.body.strip("\n"):
            lines[block.line : block.line + block.body.count("\n")] = GAP.join(pieces).split("\n")
    try:
        result = replace(chapter, text="\n".join(lines)).check()
    except ChapterError as error:
        raise ChapterError(module, 1, f"this edit would break the chapter: {error}") from None
    if _parse(tangle(result, name))[1] != body or not all(owned):  # a block without code
        raise ChapterError(module, 1, "this edit cannot be carried back; make it in the chapter")
    return result.text


def exercises(chapters: list[Chapter]) -> str:
    """All exercises with what `attention-book exercise` and `check` need: all but the answers."""
    found: dict[str, Any] = {}
    for chapter in chapters:
        text = refer(chapter.text, chapter).replace("\N{NO-BREAK SPACE}", " ")
        numbered = replace(chapter, text=text)  # a terminal shows no links
        number = chapter.number if chapter.is_chapter else ""
        for exercise in numbered.exercises:
            first = next(block for block in chapter.blocks if block.kind == "heading")
            found[exercise.id] = {
                "chapter": {"number": number, **_pair(heading(first)[:2])},
                "title": _pair(exercise.title),
                "task": _pair(exercise.task),
                "names": exercise.wanted,
                "stub": exercise.stub.body.splitlines(),
                "check": exercise.check.body.splitlines(),
            }
            if exercise.above:
                found[exercise.id]["after"] = exercise.above[-1].id
            if any(exercise.hint):
                found[exercise.id]["hint"] = _pair(exercise.hint)
    return json.dumps(found, ensure_ascii=False, indent=1) + "\n"


def _pair(texts: tuple[str, str]) -> dict[str, str]:
    return dict(zip(("zh", "en"), texts, strict=True))


def plan(
    chapters: list[Chapter], root: Path, stitching: bool = False, force: bool = False
) -> tuple[dict[str, tuple[str, str]], list[str]]:
    """What to write where, after what is there; and whose edits that would lose, with a way out."""
    changes: dict[str, tuple[str, str]] = {}
    problems = []
    for chapter in chapters:
        for name in chapter.files:
            have = read_text(Path(name), root) if (root / name).exists() else ""
            want = tangle(chapter, name)
            if edited(have, want) and stitching:
                text = stitch(chapter, name, have)
                changes[chapter.path.as_posix()] = chapter.text, text
                chapter = replace(chapter, text=text)
                want = tangle(chapter, name)
            elif edited(have, want) and not force:
                problems.append(
                    f"{name}:{_unlike(have, want)}, and was edited here; carry that back with: "
                    "nox -s tangle -- --stitch, or drop it with: nox -s tangle -- --force"
                )
            if have != want:
                changes[name] = have, want
    have = read_text(Path(EXERCISES), root) if (root / EXERCISES).exists() else ""
    if have != (want := exercises(chapters)) and (have or any(c.exercises for c in chapters)):
        changes[EXERCISES] = have, want
    return changes, problems


def differences(chapters: list[Chapter], root: Path = ROOT) -> list[str]:
    """For each module that differs from its chapter, where, how, and what to do."""
    changes, found = plan(chapters, root)
    made = {name for chapter in chapters for name in chapter.files}
    for name, (have, want) in changes.items():
        if name == EXERCISES or not edited(have, want):
            fault = f"{_unlike(have, want)}, and is older" if have else "1: is not there yet"
            found.append(f"{name}:{fault}; run: nox -s tangle")
    for path in sorted((root / PACKAGE).glob("**/*.py")):
        if (name := path.relative_to(root).as_posix()) not in made:
            found.append(f"{name}:1: no chapter defines this module; write one, or delete it")
    return found


def _unlike(have: str, want: str) -> str:
    """The first line that differs, below the header, and how."""
    pairs = enumerate(zip_longest(have.split("\n")[1:], want.split("\n")[1:]), 2)
    unlike = (f"{line}: has {a!r}, the chapter {b!r}" for line, (a, b) in pairs if a != b)
    return next(unlike, "1: has another first line")


def write(path: Path, text: str) -> None:
    """Replace a file in one step, so that a killed run leaves the old one whole."""
    if path.exists() and path.read_text("utf-8") == text:
        return  # nothing that watches the file need wake up
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(path.name + ".draft")
    draft.write_text(text, "utf-8", newline="\n")
    draft.replace(path)


def main(argv: list[str] | None = None, root: Path = ROOT) -> int:
    about = (__doc__ or "").split("\n")[0]
    parser = argparse.ArgumentParser(prog="nox -s tangle --", description=about)
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--check", action="store_true", help="write nothing; fail if they differ")
    what.add_argument("--stitch", action="store_true", help="carry edits of .py files back")
    what.add_argument("--force", action="store_true", help="overwrite edits of .py files")
    asked = parser.parse_args(argv)
    try:
        chapters = read_all(root)
        changes, problems = plan(chapters, root, asked.stitch, asked.force)
        if asked.check:
            problems = differences(chapters, root)
        for name, (_, text) in changes.items() if not (asked.check or problems) else ():
            write(root / name, text)
            print(f"wrote {name}")
    except ChapterError as error:
        problems = [str(error)]
    for problem in problems:
        print(problem, file=sys.stderr)
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main())
