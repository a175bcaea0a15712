"""Check the words: spacing, punctuation, glossary, lengths, densities, references, figures.

AutoCorrect knows most rules of mixed Chinese and Latin text. What it misses is here: spaces
around `code`, straight quotes, and words that the glossary forbids.
"""

import ast
import re
import sys
from collections.abc import Iterator, Sequence
from itertools import takewhile
from math import ceil
from pathlib import Path

import autocorrect_py

from literate import ROOT, quotes, records
from literate.blocks import (
    DIAGRAM,
    FIGURE,
    HAN,
    LANGUAGES,
    NOT_PROSE,
    WORD,
    Block,
    ChapterError,
    heading,
    short_strings,
)
from literate.chapter import PACKAGE, Chapter, Twin, pages, read
from literate.drawing import load
from literate.glossary import parse, terms
from literate.references import REFERENCE, anchor


WIDEST = 79
# In a thousand Han characters of a chapter's prose, at least and at most. Punctuation serves the
# sentence: with no colon the reader has to guess what a comma joins.
SHARES = {"：": (2, 5), "；": (1, 3), "它": (0, 4), "就": (0, 5)}
COMMAS = 4  # in a Chinese sentence, at most
PARAGRAPH = 180  # Han characters in a paragraph, at most
LISTED = re.compile(  # a number of things, and which they are: a colon parts the two
    r"[两三四五六七八九][个种样件步项条点类处](?![头词句字])[\u4e00-\u9fff]{0,6}"
    r"，[^，。；：是有为也]{1,12}(?:、[^，。；：是有为也]{1,12})+[，。；]"
)
WORDS = (1200, 2200)  # of English prose in a chapter
LINES = 300  # of Python in a chapter, at most
# Chapters that do not keep these limits yet. Whoever rewrites one takes it off the list.
NOT_YET = {
    "beam-search",  # has two searches, each whole
    "denoising",  # trains three models and times three ways of decoding
    "myths",  # an index, too long
    "vit",  # has what came after 2021 as well
    "residuals",  # asks three suspects one by one
    "subwords",  # has the tokenizer whole, with its training
    "multi-head",  # has the layer twice, in plain lines and as it ships
    "positions",  # has the long contexts too
    "transformer",  # the whole model twice, as classes and written out
    "many-devices",  # shares the work in five ways, each run by processes
}
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
    r"(?<![至最不])(减少|缩小|降低|[少减缩降低小短省])了? ?[一二三四五六七八九十百千万两几\d.]+ ?倍": (
        "a fraction, as in 降到几分之一"
    ),
}
autocorrect_py.load_config(  # type: ignore[attr-defined]
    '{"rules": {"space-dollar": 1}, "context": {"codeblock": 0}}'
)
BROKEN = rf"[^\s>]\n[ >]*{H}"  # a line of a list or quote that goes on with Chinese
MENTIONS = {"zh": ("Chinese", "图", "式"), "en": ("English", "Figure", "Equation")}
DIAGRAMS = Path("docs/diagrams")
README = "README.zh.md"  # which is in Chinese alone
# Words of diagrams that both languages share.
SHARED = set(
    "softmax logits memory pad unpad bos eos ReLU LayerNorm FFN AdamW OUT part "
    "Tom chases Jerry red apple".split()
)


def forbidden(root: Path = ROOT) -> dict[str, str]:
    """Each word not to use, and the word to use instead."""
    return {bad: term.zh for term in terms(root) for bad in term.avoid}


def problems(page: Chapter, words: dict[str, str]) -> Iterator[str]:
    """Each thing amiss on a page, with file:line; `words` are those the glossary forbids."""
    path = page.path.as_posix()
    for part in page.parts:
        for kind, line, text in _lines(part):
            at = f"{path}:{line}"
            if kind == "python" and len(text) > WIDEST:
                yield f"{at}: a line of {len(text)} characters; at most {WIDEST}"
            if kind == "chinese":
                yield from (f"{at}: {fault}" for fault in _faults(text, words))
        broken = "\n" if isinstance(part, Twin) and part.zh.kind == "paragraph" else BROKEN
        if isinstance(part, Twin) and re.search(broken, part.zh.text):
            yield f"{path}:{part.zh.line}: one Chinese paragraph, one line: a break shows as a space"


def _lines(part: Block | Twin) -> Iterator[tuple[str, int, str]]:
    """Each line of a part that is checked: what is in it, its number and its text."""
    if isinstance(part, Twin):
        for kind, block in (("chinese", part.zh), ("english", part.en)):
            for line, text in enumerate(block.text.split("\n"), block.line):
                yield kind, line, text
    elif part.info.startswith(("python", "output")):
        for line, text in enumerate(part.body.splitlines(), part.line + 1):
            yield part.info.split()[0], line, text
    elif part.info == "glossary":
        for term in parse(part):
            yield "chinese", part.line, term.zh_means
            yield "english", part.line, term.en_means
    else:
        for _, text in short_strings(part):
            zh, _, en = text.partition(" | ")
            yield "chinese", part.line, zh
            yield "english", part.line, en


def _faults(text: str, words: dict[str, str]) -> Iterator[str]:
    """What is wrong with a line of Chinese."""
    bare = re.sub(r"(`+)[^`]*\1", "`c`", text)
    bare = re.sub(r"\$[^$]+\$", "$f$", bare)
    bare = re.sub(r"\]\([^)]*\)", "]", bare)
    bare = re.sub(r"(?<=[。？！]\*\*) ", "", bare)  # Markdown wants it after a bold run-in head
    unmarked = re.sub(r"\*\*|(?<!\w)\*(?=\S)|\[|\]", "", bare)
    for pattern, rule in RULES.items():
        # A formula's two dollars look alike: judge each side on its own.
        for found in re.finditer(pattern, unmarked):
            yield f"want {rule}, got …{unmarked[max(found.start() - 6, 0) : found.end() + 6]}…"
    for fix in autocorrect_py.lint_for(bare, "markdown").lines:
        yield f"want {fix.new!r}, got {fix.old!r}"
    for bad, right in words.items():
        if bad in bare:
            yield f"the glossary says {right}, not {bad}"


def excesses(page: Chapter) -> Iterator[str]:
    """What a chapter has too much or too little of, with the count and the limit."""
    path = page.path.as_posix()
    for part in takewhile(lambda part: not _is_references(part), page.parts):
        for line, text in _paragraphs(part.en) if isinstance(part, Twin) else ():
            if (count := NOT_PROSE.sub(" ", text).count(":")) > 1:
                yield f"{path}:{line}: {count} colons in a paragraph; at most 1"
    if not page.is_chapter:
        return
    twins = (part for part in page.parts if isinstance(part, Twin))
    words = sum(len(WORD.findall(NOT_PROSE.sub(" ", twin.en.text))) for twin in twins)
    least, most = WORDS
    if words > most or (words < least and page.number):  # the preface is an overview
        yield f"{path}: {words} words of English prose; from {least} to {most}"
    lines = sum(cell.code.body.count("\n") for cell in page.cells)
    if lines > LINES:
        yield f"{path}: {lines} lines of Python; at most {LINES}"


def unevenness(page: Chapter) -> Iterator[str]:
    """Where the Chinese of a page has too few or too many marks, or too much in one place."""
    path = page.path.as_posix()
    twins = [
        part
        for part in takewhile(lambda part: not _is_references(part), page.parts)
        if isinstance(part, Twin) and part.zh.kind != "table"
    ]
    chinese = "".join(NOT_PROSE.sub(" ", twin.zh.text) for twin in twins)
    han = len(HAN.findall(chinese))
    for mark, (least, most) in SHARES.items():
        count, share = chinese.count(mark), 1000 * chinese.count(mark) / max(han, 1)
        may = most * han / 1000
        may = may if han >= 1000 else ceil(may)  # one mark is many on a short page
        if count > may or (share < least and page.is_chapter):
            yield f"{path}: {share:.1f} {mark} in a thousand Han; from {least} to {most}"
    for twin in twins:
        for line, text in _paragraphs(twin.zh):
            prose = NOT_PROSE.sub(" ", text)
            at = f"{path}:{line}"
            if (count := len(HAN.findall(prose))) > PARAGRAPH:
                yield f"{at}: a paragraph of {count} Han characters; at most {PARAGRAPH}"
            for sentence in re.split("[。？！]", prose):
                if (count := sentence.count("，")) > COMMAS:
                    yield f"{at}: {count} commas in …{sentence.strip()[:12]}…; at most {COMMAS}"
            yield from (f"{at}: want a colon in {found[0]}" for found in LISTED.finditer(prose))


def _is_references(part: Block | Twin) -> bool:
    """Whether the list of sources begins here, in which a title may have a colon of its own."""
    return isinstance(part, Block) and part.kind == "heading" and heading(part)[2] == "references"


def _paragraphs(block: Block) -> Iterator[tuple[int, str]]:
    """Each paragraph or item of a block, without its title: `**Exercise 1: …**`."""
    line = block.line
    for text in re.split(r"\n(?=\n|[ >]*(?:[-*+]|\d+\.) )", block.text):
        if block.kind != "table":
            yield line, re.sub(r"^[\s>*+-]*\*\*[^*]+\*\*", "", text)
        line += text.count("\n") + 1


def unmentioned(chapters: Sequence[Chapter]) -> Iterator[str]:
    """Each figure and labelled formula that the text of a language never refers to by number.

    A figure belongs to its chapter; of a formula any chapter may speak.
    """
    mentioned = {
        (language, Path(path).name or page.path.name, name)
        for page in chapters
        for twin in page.parts
        if isinstance(twin, Twin)
        for language, block in zip(LANGUAGES, twin, strict=True)
        for _, path, name in REFERENCE.findall(block.text)
        if name.startswith("eq-") or not path
    }
    for page in chapters:
        for block in page.blocks:
            name = anchor(block)
            for language, (text, figure, formula) in MENTIONS.items():
                if name[:3] in ("fig", "eq-") and (language, page.path.name, name) not in mentioned:
                    word = figure if name.startswith("fig-") else formula
                    fault = f"the {text} text never refers to this; write [{word}](#{name})"
                    yield f"{page.path.as_posix()}:{block.line}: {fault}"


def drawings(pages: Sequence[Chapter], words: dict[str, str], root: Path) -> Iterator[str]:
    """What is amiss with the labels of diagrams, and the diagrams that no page shows."""
    figures = (FIGURE.fullmatch(block.text) for page in pages for block in page.blocks)
    found = (DIAGRAM.fullmatch(figure[2]) for figure in figures if figure)
    shown = {diagram[1] for diagram in found if diagram}
    for path in sorted((root / DIAGRAMS).glob("*.py")):
        name, place = path.stem.replace("_", "-"), path.relative_to(root)
        if name not in shown:
            yield f"{place.as_posix()}: no page shows it"
        labels = load(name).labels
        for label in filter(_is_one_sided, labels):
            yield f"{place.as_posix()}: write 中文 | English, or same(), got {label!r}"
        both = (label for label in labels if " | " in label)
        text = "\n\n".join(f"# {label} {{#l{n}}}" for n, label in enumerate(both))
        yield from problems(Chapter(place, text), words)


def _is_one_sided(label: str) -> bool:
    """Whether readers of one edition would miss what a diagram's label says."""
    zh, bar, en = label.partition(" | ")
    if bar:
        return not en.strip() or not (HAN.search(zh) or "。" in zh or zh == en)
    latin = re.findall(r"[A-Za-z]{2,}", re.sub(r"\$[^$]*\$", "", label))
    return bool(HAN.search(label)) or not set(latin) <= SHARED


def _limits(page: Chapter) -> Iterator[str]:
    """What is amiss with a page's Chinese and its lengths; nothing, of lengths that are excused."""
    yield from unevenness(page)
    found = [*excesses(page)]
    if page.name not in NOT_YET:
        yield from found
    elif not found:
        yield f"{page.path.as_posix()}: keeps to all limits; take it off NOT_YET in prose.py"


def check(root: Path = ROOT) -> list[str]:
    """All that is amiss in the book; what needs sound pages is looked for where they are."""
    found: list[str] = []
    chapters: list[Chapter] = []
    everything: list[Chapter] = []
    words = forbidden(root)
    for path in pages(root):
        try:
            page = read(path, root)
            everything.append(page)
            found += problems(page, words)
            if page.is_chapter or page.is_source:
                found += _limits(page)
                chapters.append(page)
            records.check(page, root)
            found += quotes.faults(page, root)
        except ChapterError as error:
            found.append(str(error))
    for line, text in enumerate((root / README).read_text("utf-8").splitlines(), 1):
        found += (f"{README}:{line}: {fault}" for fault in _faults(text, words))
    found += drawings(everything, words, root)
    return found or [*unmentioned(chapters), *redefined(chapters)]


def redefined(chapters: Sequence[Chapter]) -> Iterator[str]:
    """Each public name of the package that a block without title defines a second time.

    What a reader meets under a name is what the package gives under it. An exercise may ask for
    it all the same, and the functions behind the commands are nobody's to import.
    """
    shipped: dict[str, str] = {}
    for page in chapters:
        for title, blocks in page.modules.items():
            if not title.startswith(f"{PACKAGE}/cli/"):
                tops = [node for block in blocks for node in ast.parse(block.body).body]
                shipped |= {name: title for name in _functions_and_classes(tops) if name[0] != "_"}
    for page in chapters:
        for code in (cell.code for cell in page.cells if not (cell.code.title or cell.code.role)):
            for name in _functions_and_classes(ast.parse(code.body).body):
                if name in shipped:
                    how = f"which {shipped[name]} ships; teach that one, or name this by what it is"
                    yield f"{page.path.as_posix()}:{code.line}: defines {name}, {how}"


def _functions_and_classes(nodes: Sequence[ast.stmt]) -> list[str]:
    return [node.name for node in nodes if isinstance(node, ast.FunctionDef | ast.ClassDef)]


def main() -> int:
    found = dict.fromkeys(check())  # each once
    for problem in found:
        print(problem, file=sys.stderr)
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
