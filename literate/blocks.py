"""Part a chapter's Markdown into blocks, and say what is wrong with any of them."""

import ast
import re
import symtable
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path

from markdown_it import MarkdownIt
from markdown_it.token import Token
from mdit_py_plugins.dollarmath import dollarmath_plugin
from mdit_py_plugins.front_matter import front_matter_plugin


LANGUAGES = ("zh", "en")
PARSER = MarkdownIt("commonmark").enable("table").use(front_matter_plugin).use(dollarmath_plugin)
PARSER.disable("inline")  # blocks are all that is asked for
ADMONITIONS = "note tip warning danger details"
PYTHON = re.compile(r'python( title="[^"]+"| (exercise|check|answer)="[^"]+")?')
FLUSH = "begin it at the left margin, inside `/// note | 提示 | Note` … `///` if need be"
FIGURE = re.compile(r'!\[([^\]]*)\]\(([^)\s]+)(?: "([^"]*)")?\)')
RECORD = re.compile(r"record ([\w-]+)/([\w-]+) (.+ \| .+)")
LIVE = re.compile(r"live (\w+)")  # what docs/assets/live/NAME.js shows in the browser
DIAGRAM = re.compile(r"(?:\.\./)?diagrams/([a-z0-9-]+)\.svg")
HAN = re.compile(r"[㐀-鿿豈-﫿]")
WORD = re.compile(r"[A-Za-z]+(?:['’-][A-Za-z]+)*")
# What says nothing about the language of a block: code, formulas, targets, tags.
NOT_PROSE = re.compile(
    r"`+[^`]*`+|\$[^$]+\$|\]\([^)]*\)|\]\[[^\]]*\]|<[^>]+>|https?://\S+|\{[^}]*\}"
)


class ChapterError(ValueError):
    """Something in a chapter is wrong; the message begins with file:line."""

    def __init__(self, path: Path, line: int, message: str) -> None:
        super().__init__(f"{path.as_posix()}:{line}: {message}")


@dataclass(frozen=True)
class Block:
    """One block: what it is, its source text and the line it begins on."""

    kind: str
    text: str
    line: int
    info: str = ""

    @property
    def body(self) -> str:
        """The lines between the fences of a code block."""
        return "".join(line + "\n" for line in self.text.split("\n")[1:-1])

    @property
    def title(self) -> str:
        """The `title="…"` of a code block, or nothing."""
        found = re.search(r'title="([^"]*)"', self.info)
        return found[1] if found else ""

    @property
    def role(self) -> str:
        """`exercise`, `check` or `answer` where a code block is a part of an exercise."""
        found = PYTHON.fullmatch(self.info)
        return (found[2] or "") if found else ""

    @property
    def id(self) -> str:
        """The exercise that a code block is a part of."""
        return self.info.partition('"')[2].rstrip('"') if self.role else ""

    @property
    def language(self) -> str:
        """`zh`, `en`, or nothing where the block stands for both."""
        if self.kind not in ("paragraph", "list", "table", "blockquote"):
            return ""
        prose = NOT_PROSE.sub(" ", self.text)
        han = len(HAN.findall(prose))
        words = len(WORD.findall(prose))
        return "zh" if han > words else "en" if words else ""

    @property
    def shape(self) -> str:
        """What it is and what it holds, as its twin must: `a list of 2 items, 2 paragraphs`."""
        inside = [token.type for token in PARSER.parse(self.text)]
        names = {"list_item_open": "items", "tr_open": "rows", "paragraph_open": "paragraphs"}
        parts = [f"{inside.count(t)} {name}" for t, name in names.items() if t in inside]
        return f"a {self.kind}" + (f" of {', '.join(parts)}" if self.kind != "paragraph" else "")


def pick(text: str, edition: str) -> str:
    """One side of `中文 | English`; a text without a bar stays as it is."""
    zh, bar, en = text.partition(" | ")
    return (zh if edition == "zh" else en).strip() if bar else text


def split_label(text: str, edition: str) -> str:
    """One side of a plot's `中文 | English`: a bar with Chinese before it and none after it.

    Any other bar parts nothing, nor does one in parentheses, such as that of `P(y | x)`.
    """
    for bar in re.finditer(r" \| ", text):
        zh, en = text[: bar.start()], text[bar.end() :]
        outside = zh.count("(") == zh.count(")")
        if outside and HAN.search(zh) and not HAN.search(en):
            return zh if edition == "zh" else en
    return text


def heading(block: Block) -> tuple[str, str, str]:
    """The Chinese and English text of a heading, and its ASCII id.

    The id is the one given as `{#id}`, or made from the English side.
    """
    given = re.search(r"\s*\{#([\w-]+)\}\s*$", block.text)
    text = block.text[: given.start() if given else None].lstrip("# ")
    zh, en = pick(text, "zh"), pick(text, "en")
    plain = re.sub(r"[^a-z0-9]+", "-", re.sub(r"[`$*]", "", en).lower())
    return zh, en, given[1] if given else plain.strip("-")


class _Plain(ast.NodeTransformer):
    """Code without comprehensions, whose names from Python 3.12 on count as those around them."""

    def visit(self, node: ast.AST) -> ast.AST:
        kinds = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
        return ast.Constant(None) if isinstance(node, kinds) else super().visit(node)


def names(source: str, path: Path, line: int, *, imports: bool = True) -> list[str]:
    """The names that a block binds at its top level."""
    try:
        symtable.symtable(source, path.as_posix(), "exec")
    except SyntaxError as error:
        raise ChapterError(path, line + (error.lineno or 1), error.msg) from None
    plain = ast.unparse(_Plain().visit(ast.parse(source)))
    symbols = symtable.symtable(plain, path.as_posix(), "exec").get_symbols()
    return [s.get_name() for s in symbols if (imports if s.is_imported() else s.is_assigned())]


def fenced(info: str, text: str) -> str:
    """A code block, in a fence that is longer than any within it."""
    fence = max(["``", *re.findall("`{3,}", text)]) + "`"
    return "\n".join([fence + info, text.rstrip("\n"), fence])


def split(path: Path, text: str, first: int = 1) -> list[Block]:
    """The blocks, in order, of a text that begins on line `first` of its file.

    Raises:
        ChapterError: A block is not as it should be, or a line is in none.
    """
    lines = text.split("\n")
    unread = {number for number, line in enumerate(lines) if line.strip()}
    blocks: list[Block] = []
    opened: list[Block] = []
    for token in PARSER.parse(text):
        if token.map is None or token.nesting < 0:
            continue
        start, end = token.map
        if token.type == "code_block" or (token.type == "fence" and token.level):
            raise ChapterError(path, start + first, f"indented code is never tested; {FLUSH}")
        if token.level:
            continue
        unread.difference_update(range(start, end))
        source = "\n".join(lines[start:end]).rstrip()
        block = Block(_kind(token, lines[start]), source, start + first, token.info.strip())
        if fault := _fault(block, token, opened):
            raise ChapterError(path, block.line, fault)
        blocks += _by_language(block) if block.kind == "list" else [block]
    for number in sorted(unread):  # such as the definition of a link
        fault = "no block holds this line; write a link's target with the link"
        raise ChapterError(path, number + first, fault)
    if opened:
        raise ChapterError(path, opened[-1].line, "this /// block has no end; close it with ///")
    return blocks


def _fault(block: Block, token: Token, opened: list[Block]) -> str:
    """What is wrong with a block, and what to do, or nothing; keep count of the open /// blocks."""
    text = block.text
    kind = block.kind
    last = text.split("\n")[-1]
    if kind == "fence":
        if text == last or not re.fullmatch(f"{re.escape(token.markup)}+[ \\t]*", last):
            return f"this fence has no end; close it with {token.markup} at the left margin"
        if re.match(r"\W*py", block.info, re.I) and not PYTHON.fullmatch(block.info):
            return f'`{block.info}` would not be tested; write `python` or `python title="…"`'
        if block.info.startswith("live") and not LIVE.fullmatch(block.info):
            return f"`{block.info}` names no script; write `live name`"
        if block.info.startswith("record") and not RECORD.fullmatch(block.info):
            return f"`{block.info}` shows no table; write `record name/table 标题 | Title`"
        return ""
    if text.startswith(("!!! ", "??? ", "???+ ", "=== ")):
        return f"what stands under this is never tested; {FLUSH}"
    if text.startswith("$$") and kind != "math":
        return "this formula has no end; close it with $$"
    if kind in ("html", "math") and re.search(r"(?m)^\s*(`{3}|~{3})", text):
        return f"code in here is never tested; {FLUSH}"
    if kind == "html" and HAN.search(re.sub(r"<[^>]*>", "", text)):
        return "HTML has no twin; write it as Markdown"
    if kind == "figure" and not FIGURE.fullmatch(text):
        return 'a figure stands alone: `![…](path "…")`'
    if text.startswith("///") and text != last:
        return "leave a blank line before and after ///"
    for what, short in short_strings(block):
        zh, _, en = short.partition(" | ")
        if not (zh.strip() and en.strip()):
            return f"{what} must be `中文 | English`, got `{short}`"
    if kind == "open":
        opened.append(block)
        if text.split()[1] not in ADMONITIONS.split():
            return f"a /// block is one of: {ADMONITIONS}"
    if kind == "close":
        if not opened:
            return "this /// closes nothing"
        if opened.pop().text.split()[0] != text.rstrip():
            return "close a block with as many / as it began with"
    return ""


def short_strings(block: Block) -> Iterator[tuple[str, str]]:
    """Each short string of a block that must be `中文 | English`."""
    if block.kind == "heading":
        yield "a heading", block.text.lstrip("# ")
    elif block.kind == "open":
        yield "the title of a /// block", block.text.partition(" | ")[2]
    elif found := FIGURE.fullmatch(block.text):
        yield "a figure's alternative text", found[1]
        ours = found[2].startswith("figures/") or DIAGRAM.fullmatch(found[2])
        if found[3] or ours:  # those of the labs have none
            yield "a figure's caption", found[3] or ""
    elif found := RECORD.fullmatch(block.info):
        yield "a table's title", found[3]
        for cell in re.split(r" {2,}|\n", block.body):
            yield from [("a cell", cell)] if "|" in cell else ()


def _by_language(block: Block) -> Iterator[Block]:
    """Part a list where its items change language: Markdown takes both for one list."""
    line = block.line
    items = re.split(r"\n\n(?=[-*+\d])", block.text)
    for _, group in groupby(items, lambda item: replace(block, text=item).language):
        text = "\n\n".join(group)
        yield replace(block, text=text, line=line)
        line += text.count("\n") + 2


def _kind(token: Token, line: str) -> str:
    if token.type != "paragraph_open":
        return re.sub(r"_(open|block|label)|(bullet|ordered)_", "", token.type)
    if line.startswith("!["):
        return "figure"
    if line.startswith("///"):
        return "open" if line.strip("/ ") else "close"
    return "directive" if line.startswith(":::") else "paragraph"
