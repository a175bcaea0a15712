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
import sys
from dataclasses import replace
from difflib import SequenceMatcher
from itertools import zip_longest
from pathlib import Path

from literate import ROOT
from literate.blocks import ChapterError
from literate.chapter import PACKAGE, Chapter, names, read_all, read_text


GAP = "\n\n\n"  # two blank lines, as between any two top-level definitions
HEADER = re.compile(r"# Made from (\S+) \((\w+)\)\. Edit the chapter, or edit here and run: (.*)\n")
OPTIONS = {
    "--check": "write nothing; fail if chapters and package differ",
    "--stitch": "carry edits made in the .py files into the chapters",
    "--force": "overwrite edits made in the .py files",
}


def tangle(chapter: Chapter, module: str) -> str:
    """The text of one of the modules that the chapter defines."""
    body = GAP.join(block.body.strip("\n") for block in chapter.modules[module])
    how = "Edit the chapter, or edit here and run: nox -s tangle -- --stitch"
    return f"# Made from {chapter.path.as_posix()} ({_digest(body)}). {how}\n{body}\n"


def _digest(body: str) -> str:
    return hashlib.sha256(body.encode()).hexdigest()[:12]


def _parse(text: str) -> tuple[str, str]:
    """The digest in a module's first line, and its body."""
    header = HEADER.match(text)
    return (header[2], text[header.end() :].rstrip("\n")) if header else ("", text.rstrip("\n"))


def edited(text: str, want: str) -> bool:
    """Whether a module was changed since it was tangled, and into what its chapter has not."""
    digest, body = _parse(text)
    return digest != _digest(body) and body != _parse(want)[1]


def stitch(chapter: Chapter, name: str, text: str) -> str:
    """The chapter's text with the edits made in one of its modules.

    An edit is carried back only where one block must own it. Pieces of code
    between double blank lines are compared, old against new.

    Raises:
        ChapterError: the chapter changed too, or an edit could belong to two blocks.
    """
    module, path = Path(name), chapter.path.as_posix()
    names(text, module, 0)  # refuses what is no Python
    digest, body = _parse(text)
    if digest != _digest(_parse(tangle(chapter, name))[1]):
        fault = f"both this file and {path} changed since they were tangled"
        raise ChapterError(module, 1, f"{fault}; undo one, or merge by hand")
    blocks = chapter.modules[name]
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


def differences(chapters: list[Chapter], root: Path = ROOT) -> list[str]:
    """For each module that differs from its chapter, where, how, and what to do."""
    found = []
    made = {name: chapter for chapter in chapters for name in chapter.modules}
    for name, chapter in made.items():
        have, want = _module(root, name), tangle(chapter, name)
        pairs = zip_longest(have.split("\n")[1:], want.split("\n")[1:], fillvalue="nothing")
        unlike = ((line, *pair) for line, pair in enumerate(pairs, 2) if pair[0] != pair[1])
        line, got, wanted = next(unlike, (1, "another first line", want.split("\n")[0]))
        if not have:
            found.append(f"{name}:1: is not there yet; run: nox -s tangle")
        elif edited(have, want):
            found.append(
                f"{name}:{line}: was edited here, {got!r} for {wanted!r}; "
                "carry that back with: nox -s tangle -- --stitch"
            )
        elif have != want:
            found.append(
                f"{name}:{line}: is older than {chapter.path.as_posix()}, {got!r} for {wanted!r}; "
                "run: nox -s tangle"
            )
    for path in sorted((root / PACKAGE).glob("**/*.py")):
        if (name := path.relative_to(root).as_posix()) not in made:
            fault = "no chapter defines this module; write it in a chapter, or delete it"
            found.append(f"{name}:1: {fault}")
    return found


def update(chapters: list[Chapter], root: Path, stitching: bool, force: bool) -> list[str]:
    """Write modules, or chapters too; nothing at all where an edit would be lost: say which."""
    changes: dict[Path, str] = {}
    problems = []
    for chapter in chapters:
        for name in chapter.modules:
            have = _module(root, name)
            if have and edited(have, tangle(chapter, name)) and stitching:
                chapter = replace(chapter, text=stitch(chapter, name, have))
                changes[root / chapter.path] = chapter.text
            elif have and edited(have, tangle(chapter, name)) and not force:
                problems.append(
                    f"{name}:1: was edited here, and tangling would lose that; carry it back "
                    "with: nox -s tangle -- --stitch, or drop it with: nox -s tangle -- --force"
                )
            if have != tangle(chapter, name):
                changes[root / name] = tangle(chapter, name)
    for path, text in changes.items() if not problems else ():
        write(path, text)
        print(f"wrote {path.relative_to(root).as_posix()}")
    return problems


def _module(root: Path, name: str) -> str:
    """The text of a module, or nothing where it is not there yet."""
    return read_text(Path(name), root) if (root / name).exists() else ""


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
    for option, effect in OPTIONS.items():
        what.add_argument(option, action="store_true", help=effect)
    asked = parser.parse_args(argv)
    try:
        chapters = read_all(root)
        if asked.check:
            problems = differences(chapters, root)
        else:
            problems = update(chapters, root, asked.stitch, asked.force)
    except ChapterError as error:
        problems = [str(error)]
    for problem in problems:
        print(problem, file=sys.stderr)
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main())
