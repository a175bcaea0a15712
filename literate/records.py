"""The records of experiments, and the fences in which pages show their tables.

What takes minutes is no cell of a chapter but an experiment: `nox -s experiments` runs it and
leaves experiments/records/name.json. A fence `record name/table 标题 | Title` holds one of its
tables, a row a line and the head first; two spaces or more part the cells, each plain or `中文 | English`.
"""

import json
import re
import unicodedata
from collections.abc import Callable, Iterator
from itertools import zip_longest
from pathlib import Path
from typing import Any

from literate import ROOT
from literate.blocks import RECORD, Block, ChapterError
from literate.chapter import Chapter, pages, read
from literate.tangle import write


RECORDS = Path("experiments/records")
GAP = re.compile(" {2,}")
SPREAD = re.compile(r"\d%? \(\S+(?:–| … )\S+\)")  # as experiments.record.spread writes it
NUMBER = re.compile(r"[-−+~≈<>≥≤]? ?[\d.]|–$")

Table = list[list[str]]


def load(name: str, root: Path = ROOT) -> dict[str, Any]:
    """The record of that name, such as `recurrent`."""
    return json.loads((root / RECORDS / f"{name}.json").read_text("utf-8"))


def fences(page: Chapter) -> Iterator[tuple[Block, str, str]]:
    """Each fence that shows a table, with the record's name and the table's."""
    for block in page.blocks:
        if found := RECORD.fullmatch(block.info):
            yield block, found[1], found[2]


def parse(body: str) -> Table:
    """The cells of each line of a fence."""
    return [GAP.split(line.strip()) for line in body.splitlines()]


def layout(table: Table) -> str:
    """The lines of a fence, each column as wide as its widest cell; Han count as two."""
    widths = [max(map(_width, column)) for column in zip_longest(*table, fillvalue="")]
    lines = (
        "  ".join(cell + " " * (n - _width(cell)) for cell, n in zip(row, widths, strict=False))
        for row in table
    )
    return "".join(line.rstrip() + "\n" for line in lines)


def _width(text: str) -> int:
    return len(text) + sum(unicodedata.east_asian_width(letter) in "WF" for letter in text)


def check(page: Chapter, root: Path = ROOT) -> None:
    """Raise ChapterError for the first fence that is not the table it says it is."""
    for block, name, title in fences(page):
        table = _table(page, block, name, title, root)
        how = f"if the record is right, run: nox -s experiments -- {name} --tables"
        for line, (got, want) in enumerate(zip_longest(parse(block.body), table), block.line + 1):
            if got != want:
                has, record = ("  ".join(row) if row else "nothing" for row in (got, want))
                fault = f"{name}/{title} has here {record!r}, this fence {has!r}; {how}"
                raise ChapterError(page.path, line, fault)


def _table(page: Chapter, block: Block, name: str, title: str, root: Path) -> Table:
    """The table that a fence names."""
    try:
        tables: dict[str, Table] = load(name, root)["tables"]
    except FileNotFoundError:
        fault = f"there is no {(RECORDS / name).as_posix()}.json"
        raise page.error(block, f"{fault}; run: nox -s experiments -- {name}") from None
    if title not in tables:
        raise page.error(block, f"{name} has no table {title}; it has: {', '.join(tables)}")
    return tables[title]


def rewrite(name: str, root: Path = ROOT) -> list[Path]:
    """Put the tables of a record into the fences that name it; return the pages written."""
    written = []
    for path in pages(root):
        if not (root / path).exists() or path.suffix != ".md":
            continue
        page = read(path, root)
        found = [(block, title) for block, of, title in fences(page) if of == name]
        lines = page.text.split("\n")
        for block, title in reversed(found):
            table = _table(page, block, name, title, root)
            end = block.line + block.body.count("\n")
            lines[block.line : end] = layout(table).splitlines()
        if (text := "\n".join(lines)) != page.text:
            write(root / path, text)
            written.append(path)
    return written


def caption(title: str, record: dict[str, Any], table: Table) -> str:
    """A table's title, what the table rests on and what makes it again, as `中文 | English`."""
    seeds, how = len(record["seeds"]), f"`{record['command']}`"
    zh, _, en = title.partition(" | ")
    if not any(SPREAD.search(cell) for row in table for cell in row):
        return f"{zh}。重做：{how} | {en}. Made again by {how}"
    mean = f"{seeds} seed{'s' * (seeds != 1)}"
    return (
        f"{zh}。{seeds} 个种子的平均值（最小–最大）。重做：{how}"
        f" | {en}. Mean (min–max) of {mean}, made again by {how}"
    )


def markdown(table: Table, show: Callable[[str], str]) -> str:
    """A table in Markdown, each cell as `show` has it; columns of numbers to the right.

    What parts cells, `show` escapes as its renderer wants it.
    """
    head, *body = table
    lines = ["| " + " | ".join(show(cell) for cell in row) + " |" for row in table]
    right = [all(NUMBER.match(cell) for cell in column) for column in zip(*body, strict=True)]
    rule = "|" + "|".join("---:" if right[i] else "---" for i in range(len(head))) + "|"
    return "\n".join([lines[0], rule, *lines[1:]])
