"""The glossary: its terms, the page that explains them, and the links that lead to it.

docs/glossary.md holds the terms as TOML, in `glossary` fences. The first use of a term in each
section of a page becomes a link to its entry, with the definition as a tooltip, and the entry
leads back to the chapters that use it. Chinese leaves no space between words, so jieba tells
where one ends: 关键 holds no 键, and 阈值 no 值.
"""

import logging
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from html import escape
from itertools import accumulate
from pathlib import Path
from typing import Any, NamedTuple

import jieba

from literate import ROOT
from literate.blocks import LANGUAGES, Block, ChapterError
from literate.chapter import SOURCE, order, read


GLOSSARY = Path("docs/glossary.md")
# Where no term is looked for: an exercise's title, code, formulas, links, tags, attributes.
CLOSED = re.compile(
    r"^\*\*(?:练习|Exercise)[^*]*\*\*|(`+)(?:.|\n)*?\1|\$[^$]+\$|!?\[(?:`[^`]*`|[^]`])*\](?:\([^)]*\)|\[[^]]*\])"
    r"|<[^>]+>|\{[^}]*\}|https?://\S+"
)


@dataclass(frozen=True)
class Term:
    """An entry: the names of a term, what it means, and how the prose speaks of it."""

    id: str
    zh: str
    en: str
    zh_means: str
    en_means: str
    zh_also: tuple[str, ...] = ()  # other words for it, which link to it as well
    en_also: tuple[str, ...] = ()
    zh_near: tuple[str, ...] = ()  # linked only in a passage that has one of these, because
    en_near: tuple[str, ...] = ()  # the word alone may mean something else
    avoid: tuple[str, ...] = ()  # Chinese renderings that the book does not use
    asked: tuple[str, ...] = ()  # abbreviations and names elsewhere, by which the search finds it
    chapter: str = ""  # the name of the chapter that explains it
    path: Path | None = None  # of that chapter
    number: int = -1  # of the chapter; a page of the annotated source has none
    tooltip: bool = True  # a word that stands on every page needs none

    def forms(self, language: str) -> tuple[str, ...]:
        return (self.zh, *self.zh_also) if language == "zh" else (self.en, *self.en_also)

    @property
    def names(self) -> tuple[str, ...]:
        """All that it is called, here and elsewhere."""
        return (*self.forms("zh"), *self.forms("en"), *self.avoid, *self.asked)

    def means(self, language: str) -> str:
        return self.zh_means if language == "zh" else self.en_means

    def is_meant(self, text: str, language: str) -> bool:
        near = self.zh_near if language == "zh" else self.en_near
        return not near or any(word.lower() in text.lower() for word in near)


class Use(NamedTuple):
    """Where a chapter first uses a term."""

    chapter: int
    place: str  # as the glossary links to it


def terms(root: Path = ROOT) -> list[Term]:
    """All terms of the book, in the order of the page."""
    numbers = order(root)
    source = (path.relative_to(root) for path in (root / SOURCE).glob("*.md"))
    paths = {path.stem: path for path in [*source, *numbers]}
    fences = [block for block in read(GLOSSARY, root).blocks if block.info == "glossary"]
    book: list[Term] = []
    known: set[str] = set()
    for fence in fences:
        for term in parse(fence):
            names = {f"{which} {form}" for which in LANGUAGES for form in term.forms(which)}
            line = fence.line + fence.text.partition(f"\n[{term.id}]")[0].count("\n") + 1
            if again := known & (names | {term.id}):
                raise ChapterError(GLOSSARY, line, f"{min(again)} is in the glossary already")
            if term.chapter and term.chapter not in paths:
                raise ChapterError(GLOSSARY, line, f"there is no chapter named {term.chapter}")
            known |= names | {term.id}
            path = paths.get(term.chapter)
            book.append(replace(term, path=path, number=numbers.get(path, -1) if path else -1))
    return book


def parse(block: Block) -> list[Term]:
    """The terms of one fence."""
    try:
        return [_term(id_, entry) for id_, entry in tomllib.loads(block.body).items()]
    except (tomllib.TOMLDecodeError, TypeError) as error:
        raise ChapterError(GLOSSARY, block.line, str(error)) from None


def _term(id_: str, given: dict[str, Any]) -> Term:
    lists = {key: tuple(value) for key, value in given.items() if isinstance(value, list)}
    return Term(id_, **given | lists)


def entry(term: Term, edition: str, uses: Sequence[Use] = ()) -> tuple[str, str, str]:
    """What the page says of a term: the heading with both names, and the text in each language."""
    name, second = (term.zh, term.en) if edition == "zh" else (term.en, term.zh)
    other = "en" if edition == "zh" else "zh"
    small = f' <small lang="{other}">{second}</small>' if second != name else ""
    zh, en = term.zh_means, term.en_means
    if term.path:
        number, place = term.number, term.path.relative_to("docs").as_posix()
        ours, theirs = "源码注解", "the annotated source"
        if number >= 0:
            ours = f"第\N{NO-BREAK SPACE}{number}\N{NO-BREAK SPACE}章"
            theirs = f"chapter\N{NO-BREAK SPACE}{number}"
        zh += f"见[{ours}]({place})。"
        en += f" See [{theirs}]({place})."
    if term.avoid:
        zh += f"不写作{''.join(f'“{word}”' for word in term.avoid)}。"
        en += f" In Chinese not {' or '.join(term.avoid)}."
    if uses:
        places = [f"[{use.chapter}]({use.place})" for use in uses]
        zh += f'<span class="uses">用于第\N{NO-BREAK SPACE}{"、".join(places)}\N{NO-BREAK SPACE}章</span>'
        chapters = "chapter" if len(uses) == 1 else "chapters"
        en += f' <span class="uses">Used in {chapters} {", ".join(places)}</span>'
    return f'### {name}{small} {{#{term.id} .entry data-toc-label="{name}"}}', zh, en


def link(
    sections: Iterable[Sequence[str]], language: str, book: Sequence[Term], page: str
) -> tuple[list[list[str]], dict[Term, int]]:
    """The passages of a page, the first use of each term in a section a link.

    Also the terms linked, each with the number of the section that uses it first.
    """
    linked: list[list[str]] = []
    used: dict[Term, int] = {}
    for number, texts in enumerate(sections):
        here: set[Term] = set()
        passages: list[str] = []
        for text in texts:
            parts: list[str] = []
            done = 0
            for start, end, term in find(text, language, book):
                if term not in here and term.tooltip:
                    here.add(term)
                    used.setdefault(term, number)
                    attributes = f'{{ .term aria-describedby="tip-{term.id}-{language}" }}'
                    parts += text[done:start], f"[{text[start:end]}]({page}#{term.id}){attributes}"
                    done = end
            passages.append("".join([*parts, text[done:]]))
        linked.append(passages)
    return linked, used


def tips(used: Iterable[Term], language: str) -> str:
    """What the terms that a page links to mean, for the style sheet and script to show.

    Before it stands the name in the other language, after it the chapter that explains it.
    """
    other = "en" if language == "zh" else "zh"

    def tip(term: Term) -> str:
        where = f"第 {term.number} 章" if language == "zh" else f"Chapter {term.number}"
        return (
            f'<p class="tip" role="tooltip" popover="manual" id="tip-{term.id}-{language}" '
            f'lang="{language}"><b lang="{other}">{escape(term.forms(other)[0])}</b> '
            f"{escape(term.means(language))}{f' <i>{where}</i>' if term.number >= 0 else ''}</p>\n"
        )

    return "".join(map(tip, used))


def find(text: str, language: str, book: Sequence[Term]) -> Iterator[tuple[int, int, Term]]:
    """Each use of a term in a passage, the longest where several begin at one place."""
    bare = CLOSED.sub(lambda closed: "\0" * len(closed[0]), text)
    pattern, meant = _pattern(language, tuple(book))
    parts = words(tuple(book)).cut(bare, HMM=False) if language == "zh" else bare
    borders = {0, *accumulate(map(len, parts))}
    at = 0
    while found := pattern.search(bare, at):
        start, end = found.span()
        whole = {start, end} <= borders
        at = end if whole else start + 1
        term = meant(found[0])
        if whole and term.is_meant(text, language):
            yield start, end, term


@cache
def _pattern(
    language: str, book: tuple[Term, ...]
) -> tuple[re.Pattern[str], Callable[[str], Term]]:
    """What finds all forms of all terms, the longest first; and which term is meant by a form."""
    forms = [(form, term) for term in book for form in term.forms(language)]
    forms.sort(key=lambda item: -len(item[0]))
    patterns = [_form(form, language) for form, _ in forms]
    groups = re.compile("|".join(f"({pattern})" for pattern in patterns))

    @cache
    def meant(form: str) -> Term:
        found: Any = groups.fullmatch(form)  # as the other pattern found it
        return forms[found.lastindex - 1][1]

    edge = r"[A-Za-z0-9_-]" if language == "zh" else r"[\w–-]"
    return re.compile(f"(?<!{edge})(?:{'|'.join(patterns)})(?!{edge})"), meant


def _form(form: str, language: str) -> str:
    """A regular expression: in English also for the plural, and for the first word's capital."""
    if language == "zh":
        return re.escape(form)
    plural = re.sub(r"(?<=[^aeiou])y$", "(?:y|ies)", form)
    if plural == form:
        plural += "(?:es)?" if re.search("(?:[sxz]|[cs]h)$", form) else "s?"
    first = re.sub("^[a-z]", lambda letter: f"[{letter[0].upper()}{letter[0]}]", plural)
    return re.sub("[-–]", "[-–]", first.replace(" ", r"\s+"))


@cache
def words(book: tuple[Term, ...]) -> jieba.Tokenizer:
    """What parts Chinese into words, those of the glossary among them."""
    jieba.setLogLevel(logging.WARNING)
    tokenizer = jieba.Tokenizer()
    for term in book:
        for form in term.forms("zh"):
            tokenizer.add_word(form)
    return tokenizer
