"""Make the package of the chapters (tangle), or the chapters of the package (stitch).

    python -m literate.tangle             write attention_book/ from the chapters
    python -m literate.tangle --check     only say whether the two agree
    python -m literate.tangle --stitch    carry edits made in the .py files back
    python -m literate.tangle --force     overwrite edits made in the .py files

The first line of a tangled module holds a digest of the rest. It tells an edited
module from one that is merely older than its chapter.
"""

import argparse
import hashlib
import re
import symtable
import sys
from dataclasses import replace
from difflib import SequenceMatcher, unified_diff
from pathlib import Path

from literate.blocks import ChapterError
from literate.chapter import PACKAGE, ROOT, Chapter, read_all


GAP = "\n\n\n"  # two blank lines, as between any two top-level definitions
HEADER = re.compile(r"# Made from (\S+) \((\w+)\)\. Edit the chapter, or edit here and run: (.*)\n")


def tangle(chapter: Chapter, module: str) -> str:
    """The text of one of the modules that the chapter defines."""
    blocks = chapter.modules[module]
    return _signed(chapter, GAP.join(block.body.strip("\n") for block in blocks))


def _signed(chapter: Chapter, body: str) -> str:
    how = "nox -s tangle -- --stitch"
    return f"# Made from {chapter.path.as_posix()} ({_digest(body)}). Edit the chapter, or edit here and run: {how}\n{body}\n"


def _digest(body: str) -> str:
    return hashlib.sha256(body.encode()).hexdigest()[:12]


def _parse(text: str) -> tuple[str, str]:
    """The digest in a module's first line, and its body."""
    header = HEADER.match(text)
    return (header[2], text[header.end() :].rstrip("\n")) if header else ("", text.rstrip("\n"))


def _module(root: Path, name: str) -> str:
    """The text of a module, or nothing where it is not there yet."""
    try:
        return (root / name).read_text("utf-8") if (root / name).exists() else ""
    except UnicodeDecodeError:
        raise ChapterError(Path(name), 1, "not UTF-8; save the file as UTF-8") from None


def edited(text: str) -> bool:
    """Whether a module was changed since it was tangled."""
    digest, body = _parse(text)
    return digest != _digest(body)


def stitch(chapter: Chapter, name: str, text: str) -> str:
    """The chapter's text with the edits made in one of its modules.

    An edit is carried back only where one block must own it. Pieces of code
    between double blank lines are compared, old against new.

    Raises:
        ChapterError: the chapter changed too, or an edit could belong to two blocks.
    """
    module = Path(name)
    try:
        symtable.symtable(text, module.as_posix(), "exec")
    except SyntaxError as error:
        raise ChapterError(module, error.lineno or 1, f"{error.msg}; mend it first") from None
    digest, body = _parse(text)
    old_body = _parse(tangle(chapter, name))[1]
    if digest != _digest(old_body):
        raise ChapterError(
            module,
            1,
            f"both this file and {chapter.path.as_posix()} changed since they were tangled; undo one, or merge by hand",
        )
    blocks = chapter.modules[name]
    old = [(piece, i) for i, b in enumerate(blocks) for piece in b.body.strip("\n").split(GAP)]
    new = body.split(GAP)
    owned: list[list[str]] = [[] for _ in blocks]
    matcher = SequenceMatcher(None, [piece for piece, _ in old], new, autojunk=False)
    for _, i1, i2, j1, j2 in matcher.get_opcodes():
        if j1 == j2:
            owners = []  # deleted, and each piece knows its block
        elif i2 - i1 == j2 - j1:  # piece for piece, whether changed or not
            owners = [owner for _, owner in old[i1:i2]]
        else:
            near = old[max(i1 - 1, 0) : i2 + 1]
            if len({owner for _, owner in near}) != 1:
                raise ChapterError(
                    module,
                    2 + GAP.join(new[:j1]).count("\n") + (3 if j1 else 0),
                    "cannot tell which block owns this edit, that of line "
                    + " or ".join(str(blocks[k].line) for k in sorted({owner for _, owner in near}))
                    + f" of {chapter.path.as_posix()}; make it in the chapter",
                )
            owners = [near[0][1]] * (j2 - j1)
        for owner, piece in zip(owners, new[j1:j2], strict=True):
            owned[owner].append(piece)
    lines = chapter.text.split("\n")
    for block, pieces in reversed(list(zip(blocks, owned, strict=True))):
        if GAP.join(pieces) == block.body.strip("\n"):
            continue
        if not pieces:
            raise ChapterError(
                chapter.path, block.line, "this block would be empty; delete it in the chapter"
            )
        end = block.line - 1 + len(block.text.split("\n"))
        lines[block.line : end - 1] = GAP.join(pieces).split("\n")
    try:
        result = replace(chapter, text="\n".join(lines)).check()
    except ChapterError as error:
        raise ChapterError(module, 1, f"this edit would break the chapter: {error}") from None
    if _parse(tangle(result, name))[1] != body:
        raise ChapterError(
            module, 1, "this edit does not survive the way through the chapter; make it there"
        )
    return result.text


def differences(chapters: list[Chapter], root: Path = ROOT) -> list[str]:
    """For each module that differs from its chapter, where, how, and what to do."""
    found = []
    made = {name: chapter for chapter in chapters for name in chapter.modules}
    for name, chapter in made.items():
        want = tangle(chapter, name)
        have = _module(root, name)
        if have == want:
            continue
        pairs = zip(have.split("\n"), want.split("\n"), strict=False)
        line = next((i for i, (a, b) in enumerate(pairs, 1) if a != b and i > 1), 1)
        if not have:
            why = "is not there yet; run: nox -s tangle"
        elif edited(have) and _parse(have)[1] != _parse(want)[1]:
            why = "was edited here; carry that back with: nox -s tangle -- --stitch"
        else:
            why = f"is older than {chapter.path.as_posix()}; run: nox -s tangle"
        diff = list(
            unified_diff(want.split("\n"), have.split("\n"), "chapter", "file", "", "", 0, "")
        )
        found.append(f"{name}:{line}: {why}\n" + "\n".join(diff[2:14]))
    for path in sorted((root / PACKAGE).glob("**/*.py")):
        name = path.relative_to(root).as_posix()
        if name not in made:
            found.append(
                f"{name}:1: no chapter defines this module; write it in a chapter, or delete it"
            )
    return found


def write(path: Path, text: str) -> None:
    """Replace a file in one step, so that a killed run leaves the old one whole."""
    if path.exists() and path.read_text("utf-8") == text:
        return  # nothing that watches the file need wake up
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(path.name + ".draft")
    draft.write_text(text, "utf-8")
    draft.replace(path)


def main(argv: list[str] | None = None, root: Path = ROOT) -> int:
    parser = argparse.ArgumentParser(
        prog="nox -s tangle --", description=(__doc__ or "").split("\n")[0]
    )
    what = parser.add_mutually_exclusive_group()
    what.add_argument(
        "--check", action="store_true", help="write nothing; fail if chapters and package differ"
    )
    what.add_argument(
        "--stitch", action="store_true", help="carry edits made in the .py files into the chapters"
    )
    what.add_argument("--force", action="store_true", help="overwrite edits made in the .py files")
    asked = parser.parse_args(argv)
    try:
        chapters = read_all(root)
        if asked.check:
            problems = differences(chapters, root)
        else:
            problems = _update(chapters, root, asked.stitch, asked.force)
    except ChapterError as error:
        problems = [str(error)]
    for problem in problems:
        print(problem, file=sys.stderr)
    return bool(problems)


def _update(chapters: list[Chapter], root: Path, stitching: bool, force: bool) -> list[str]:
    changes: dict[Path, str] = {}
    problems = []
    for chapter in chapters:
        for name in chapter.modules:
            text = _module(root, name)
            done = _parse(text)[1] == _parse(tangle(chapter, name))[1]
            if stitching and edited(text) and not done:
                chapter = replace(chapter, text=stitch(chapter, name, text))
                changes[root / chapter.path] = chapter.text
            elif text and edited(text) and not force and not done:
                problems.append(
                    f"{name}:1: was edited here, and tangling would lose that; carry it back "
                    "with: nox -s tangle -- --stitch, or drop it with: nox -s tangle -- --force"
                )
            if text != tangle(chapter, name):
                changes[root / name] = tangle(chapter, name)
    if not problems:
        for path, text in changes.items():
            write(path, text)
            print(f"wrote {path.relative_to(root).as_posix()}")
    return problems


if __name__ == "__main__":
    sys.exit(main())
