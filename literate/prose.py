"""Check the prose: spacing, punctuation, glossary, retired words, the width of lines.

AutoCorrect knows most rules of mixed Chinese and Latin text. What it misses is
here: spaces around `code`, straight quotes, words that the glossary forbids.
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import autocorrect_py

from literate import retired
from literate.blocks import FIGURE, HAN, Block, ChapterError
from literate.chapter import ROOT, Chapter, Twin, pages, read, untested
from literate.glossary import GLOSSARY, glossary


WIDEST = 79
H = HAN.pattern
FULL = "，。；：？！（）《》、"
RULES = {
    rf"{H}`|`{H}": "a space between Chinese and `code`",
    rf"{H}\$|\$(?!\$){H}": "a space between Chinese and a formula",
    rf" [{FULL}]|[{FULL}] (?=[^\s|])": "no space beside full-width punctuation",
    r"\d +%": "no space between number and %",
    rf"{H}[\"']|[\"']{H}": "quotes “ ” in Chinese",
    rf"{H}[,;:?!]|{H}\.(?!\w)": "full-width punctuation in Chinese",
    rf"{H}\(|\){H}": "full-width parentheses in Chinese",
}
autocorrect_py.load_config(  # type: ignore[attr-defined]
    '{"rules": {"space-dollar": 1}, "context": {"codeblock": 0}}'
)


def forbidden(root: Path = ROOT) -> dict[str, str]:
    """Each word not to use, and the word to use instead."""
    return {bad: term.chinese for term in glossary(root) for bad in term.forbidden}


def problems(chapter: Chapter, words: dict[str, str]) -> Iterator[str]:
    """Each thing amiss, with file:line."""
    for part in chapter.parts:
        for number, text in _chinese(part):
            at = f"{chapter.path.as_posix()}:{number}"
            bare = re.sub(r"(`+)[^`]*\1", "`c`", text)
            bare = re.sub(r"\$[^$]+\$", "$f$", bare)
            bare = re.sub(r"\]\([^)]*\)", "]", bare)
            unmarked = re.sub(r"\*\*|(?<!\w)\*(?=\S)|\[|\]", "", bare)
            for pattern, rule in RULES.items():
                # A formula's two dollars look alike: judge each side on its own.
                for found in re.finditer(pattern, unmarked):
                    yield f"{at}: want {rule}, got …{unmarked[max(found.start() - 6, 0) : found.end() + 6]}…"
            for fix in autocorrect_py.lint_for(bare, "markdown").lines:
                yield f"{at}: want {fix.new!r}, got {fix.old!r}"
            for bad, right in words.items():
                if bad in bare:
                    yield f"{at}: the glossary says {right}, not {bad}"
        if isinstance(part, Twin) and part.zh.kind == "paragraph" and "\n" in part.zh.text:
            yield f"{chapter.path.as_posix()}:{part.zh.line}: one Chinese paragraph, one line"
        if isinstance(part, Block) and part.info.startswith("python"):
            lines = part.body.splitlines()
            for number, line in enumerate(lines, part.line + 1):
                if len(line) > WIDEST:
                    yield f"{chapter.path.as_posix()}:{number}: a line of {len(line)} characters; at most {WIDEST}"


def _chinese(part: Block | Twin) -> Iterator[tuple[int, str]]:
    """The Chinese of a part, line by line."""
    if isinstance(part, Twin):
        yield from enumerate(part.zh.text.split("\n"), part.zh.line)
    elif part.kind == "heading":
        yield part.line, part.text.lstrip("# ").partition(" | ")[0]
    elif part.kind == "open":
        yield part.line, part.text.split(" | ")[1]
    elif found := FIGURE.fullmatch(part.text):
        yield part.line, found[1].partition(" | ")[0]
        yield part.line, (found[3] or "").partition(" | ")[0]


def check(root: Path = ROOT) -> list[str]:
    """All that is amiss in the pages, the README among them."""
    try:
        words = forbidden(root)
    except ChapterError as error:
        return [str(error)]
    found: list[str] = []
    for path in pages(root):
        try:
            page = read(path, root)
            found += problems(page, {} if path == GLOSSARY else words)
            found += retired.in_chapter(page)
        except ChapterError as error:
            found.append(str(error))
    try:
        return [*found, *untested(root), *retired.in_files(root)]
    except ChapterError as error:  # told already
        return found or [str(error)]


def main() -> int:
    found = check()
    for problem in found:
        print(problem, file=sys.stderr)
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
