"""Check the figures that the prose quotes: against the record, and one language by the other.

A record is shown, by a fence `record name/table …`, or named, as `python -m benchmarks.name` or
`benchmarks/results/name.json`. What follows, up to the next record or heading, is about it, and so
is what stands between a heading and the first record. There a decimal or percentage must be a
number of the table, rounded perhaps, or one that the experiment or the code of the section sets.
A link to a table adds its numbers; a sentence that cites a publication has none of ours. For what
comes from elsewhere a comment above the Chinese says from where:

    <!-- figures: 4.5 = 97.7 - 93.2; 22% of tasks/two names; 1.3: always answering zero -->

that is, from two numbers of the record's tables or results, from a result of any record, or why.

Everywhere each language has the decimals and percentages of the other.
"""

import json
import operator
import re
from collections.abc import Iterable, Iterator
from functools import lru_cache, reduce
from itertools import groupby
from pathlib import Path
from statistics import mean
from typing import Any, NamedTuple

from literate import ROOT
from literate.blocks import NOT_PROSE, RECORD, Block, heading
from literate.chapter import Chapter, Twin, read
from literate.records import RECORDS, load
from literate.references import anchor


RESULTS = Path("benchmarks/results")
FIGURE = re.compile(r"(?<![\w.,/])\d+(?:,\d{3})*(?:\.\d+)?%?(?![\w,.]*\w|-[a-z])")
NUMBER = re.compile(r"\d+(?:,\d{3})*(?:\.\d+)?")
LITERAL = re.compile(r"(?<![\w.])(?:\d[\d_]*(?:\.\d+)?|\.\d+)(?:e-?\d+)?(?![\w.])")
# What has a point and is no figure: sections, versions, what 万 or million makes larger.
PLACES = r"\d[\d.]*(?:(?:、|，|,? ?(?:[和与至到]|and|to) ?|, |–)\d[\d.]*)*"
NO_FIGURE = re.compile(
    rf"(?:[Ss]ections?|§+|[Aa]ppendix|[Vv]ersions?|[Tt]orch|Python|BY(?:-SA)?) ?{PLACES}"
    rf"|{PLACES}(?: ?[节版万亿]| (?:之前|or later|million|billion|trillion))"
)
RANGE = re.compile(r"(\d)((?: to |–| [到至] )\d[\d.]*)%")
SENTENCE = re.compile(r"(?<=[。？！])|(?<=[.?!]) (?=[A-Z“\"[*$~])")
CITED = re.compile(r"\bet al\.|等人?（|[（(][^）)]*\b(?:19|20)\d\d\b[^）)]*[）)]|\btable \d|表 \d")
LINK = re.compile(r"\]\(([^)#\s:]*\.md|)#([\w-]+)\)")
COMMENT = re.compile(r"<!-- figures: (.+?) -->", re.S)
ENTRY = re.compile(r"([\d.]+%?)(?: = ([\d.]+) ([-+*/]) ([\d.]+)| of ([\w-]+)/(.+)|: .+)")
OPERATORS = {"-": operator.sub, "+": operator.add, "*": operator.mul, "/": operator.truediv}


class Source(NamedTuple):
    """What a passage may quote: a record's numbers, as it writes them, and what code sets."""

    numbers: frozenset[str] = frozenset()
    settings: frozenset[float] = frozenset()
    records: frozenset[str] = frozenset()

    def plus(self, other: "Source") -> "Source":
        return Source(
            self.numbers | other.numbers,
            self.settings | other.settings,
            self.records | other.records,
        )

    def has(self, figure: str) -> bool:
        value = float(figure.rstrip("%")) / (100 if "%" in figure else 1)
        return round(value, 9) in self.settings or any(_rounds(x, figure) for x in self.numbers)


def faults(page: Chapter, root: Path = ROOT) -> Iterator[str]:
    """Each figure of a page that the record or the other language does not have, by file:line."""
    path = page.path.as_posix()
    for zh, en in (part for part in page.parts if isinstance(part, Twin)):
        for block, other in ((zh, en), (en, zh)):
            for figure in _missing(block.text, other.text):
                yield f"{path}:{block.line}: quotes {figure}, and its twin does not"
    for blocks, source, comment in _passages(page, root):
        quoted = {(x, block.line) for block in blocks for x in figures(block.text)}
        explained = dict(_explained(comment, source, root))
        for figure, line in sorted(quoted):
            if figure not in explained and not source.has(figure):
                yield f"{path}:{line}: quotes {figure}, which the record does not have"
        for figure, fault in explained.items():
            if figure not in dict(quoted):
                fault = "nothing below quotes it"
            if fault:
                yield f"{path}:{blocks[0].line}: {figure} in the comment above: {fault}"


def figures(text: str, *, cited: bool = False) -> list[str]:
    """The decimals and percentages of a text, as `0.5` or `50%`; those it cites only if asked."""
    plain = RANGE.sub(r"\1%\2%", NO_FIGURE.sub("~", NOT_PROSE.sub("~", text)))
    sentences = (s for s in SENTENCE.split(plain) if cited or not CITED.search(s))
    found = (figure for sentence in sentences for figure in FIGURE.findall(sentence))
    return [figure.replace(",", "") for figure in found if "." in figure or "%" in figure]


def _missing(text: str, twin: str) -> list[str]:
    """The figures that a twin lacks; a round percentage may be put in words there."""
    there = {found.replace(",", "") for found in NUMBER.findall(twin)}
    here = (x for x in figures(text, cited=True) if not re.fullmatch(r"\d*0%", x))
    return [figure for figure in here if figure.rstrip("%") not in there]


def _rounds(number: str, figure: str) -> bool:
    """Whether a record's number, with fewer places perhaps, is the figure."""
    if ("%" in number) != ("%" in figure):
        return False
    number, figure = number.rstrip("%"), figure.rstrip("%")
    places, fewer = (len(text.partition(".")[2]) for text in (number, figure))
    off = abs(float(number) - float(figure))
    return off <= 0.500001 * 10**-fewer if places >= fewer else off == 0


def _passages(page: Chapter, root: Path) -> Iterator[tuple[list[Block], Source, str]]:
    """Each run of prose that is about a record, with what it may quote and the comment above."""
    for section in _sections(page.parts):
        runs = [list(run) for _, run in groupby(section, lambda part: isinstance(part, Twin))]
        shown = [_shown(run, root) for run in runs]
        blocks = [part for part in section if isinstance(part, Block)]
        code = "".join(
            block.text for block in blocks if block.info.startswith(("python", "output"))
        )
        for i, run in enumerate(runs):
            prose = list(_prose(run))
            near = [source for source in [*shown[i::-1], *shown[i:]] if source][:1]
            if prose and (near or any("#tab-" in block.text for block in prose)):
                above = runs[i - 1][-1] if i else None
                comment = COMMENT.fullmatch(above.text) if isinstance(above, Block) else None
                yield (
                    prose,
                    reduce(
                        Source.plus,
                        [*near, *_linked(prose, page, root)],
                        Source(frozenset(FIGURE.findall(code.replace(",", ""))), _literals(code)),
                    ),
                    comment[1] if comment else "",
                )


def _sections(parts: Iterable[Block | Twin]) -> Iterator[list[Block | Twin]]:
    """The parts of a page, a list from each heading to the next."""
    section: list[Block | Twin] = []
    for part in parts:
        if isinstance(part, Block) and part.kind == "heading":
            yield section
            section = []
        section.append(part)
    yield section


def _prose(run: Iterable[Block | Twin]) -> Iterator[Block]:
    """The blocks of a run in which figures are quoted: both languages, and what a figure shows."""
    for part in run:
        if isinstance(part, Twin):
            yield from part
        elif part.kind == "figure" and "benchmarks." in part.text:
            yield part


def _shown(run: Iterable[Block | Twin], root: Path) -> Source | None:
    """What the records have that a run shows or names."""
    infos = [part.info for part in run if isinstance(part, Block)]
    found = [_of_table(*x.groups()[:2], root) for x in map(RECORD.fullmatch, infos) if x]
    text = "".join(block.text for block in _prose(run))
    for path in sorted((root / RESULTS).glob("*.json")) if "bench" in text else ():
        result = json.loads(path.read_text("utf-8"))
        if path.name in text or f"`{result['command'].partition(' --')[0]}`" in text:
            found.append(Source(frozenset(_numbers(result))))
    return reduce(Source.plus, found) if found else None


def _linked(prose: Iterable[Block], page: Chapter, root: Path) -> Iterator[Source]:
    """What the tables and sections hold to which the prose links."""
    links = {link for block in prose for link in LINK.findall(block.text)}
    for path, name in links:
        there = (root / page.path.parent / path).resolve().relative_to(root.resolve())
        target = read(there, root) if path and (root / there).exists() else page
        for section in _sections(target.parts):
            blocks = [part for part in section if isinstance(part, Block)]
            if not (blocks and blocks[0].kind == "heading" and heading(blocks[0])[2] == name):
                blocks = [block for block in blocks if anchor(block) == name]
            if source := _shown(blocks, root):
                yield source


@lru_cache(maxsize=512)
def _of_table(name: str, title: str, root: Path) -> Source:
    """The numbers of a record's table, and the values that its experiment sets."""
    cells = [cell for row in load(name, root)["tables"].get(title, ()) for cell in row]
    numbers = (x + "%" * ("%" in cell) for cell in cells for x in NUMBER.findall(cell))
    script = root / "experiments" / f"{name.replace('-', '_')}.py"
    settings = _literals("".join(_scripts(script)))
    numbers = (number.replace(",", "") for number in numbers)
    return Source(frozenset(numbers), settings, frozenset([name]))


def _scripts(path: Path) -> Iterator[str]:
    """The text of an experiment, and of those beside it that it imports."""
    if path.exists():
        yield (text := path.read_text("utf-8"))
        for name in set(re.findall(r"\bexperiments\.(\w+)", text)) - {"record", path.stem}:
            yield from _scripts(path.with_name(f"{name}.py"))


def _literals(code: str) -> frozenset[float]:
    return frozenset(float(found) for found in LITERAL.findall(code))


def _numbers(value: Any) -> Iterator[str]:
    """Each number within a result, with all its places and in percent, and the mean of a list."""
    if isinstance(value, int | float):
        yield from (f"{abs(value):.12f}", f"{100 * abs(value):.10f}%")
    elif isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _numbers(inner)
        if isinstance(value, list) and value and not any(isinstance(x, str) for x in value):
            yield from _numbers(mean(value))


def _explained(comment: str, source: Source, root: Path) -> Iterator[tuple[str, str]]:
    """Each figure that a comment explains, with what is wrong in it, or nothing."""
    if not comment:
        return
    results = [frozenset(_numbers(load(name, root)["results"])) for name in source.records]
    wide = Source(source.numbers.union(*results))
    for entry in " ".join(comment.split()).split("; "):
        if not (found := ENTRY.fullmatch(entry)):
            yield entry, "write `4.5 = 97.7 - 93.2`, `13% of record/result` or `1.3: why`"
            continue
        figure, a, sign, b, name, key = found.groups()
        fault = ""
        if sign:
            result = OPERATORS[sign](float(a), float(b))
            known = [x.isdigit() or wide.has(x) or wide.has(x + "%") for x in (a, b)]
            if not all(known):
                fault = f"the record has no {b if known[0] else a}"
            elif not _rounds(f"{result:.12f}", figure.rstrip("%")):
                fault = f"{a} {sign} {b} is {result:.6g}"
        elif name:
            exists = (root / RECORDS / f"{name}.json").exists()
            values = load(name, root)["results"].get(key) if exists else None
            if not Source(frozenset(_numbers(values))).has(figure):
                fault = f"{name}/{key} is {values}"
        yield figure, fault
