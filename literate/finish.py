"""Finish the HTML of a page: set its formulas, and make its code light to load and to read.

Formulas are set by KaTeX when the book is built, so they can be read without JavaScript. Code
loses the tags that add nothing, which are half of all that a long page has.
"""

import re
from bisect import bisect
from functools import cache
from html import unescape
from os.path import normpath
from pathlib import Path

from py_mini_racer import MiniRacer

from literate import ROOT
from literate.blocks import pick
from literate.plots import least, size


KATEX = ROOT / "docs/assets/katex/katex.min.js"
TWIN = re.compile(r'<(section|small)\b[^>]*\bclass="twin".*?</\1>', re.S)
FORMULA = re.compile(r'<(span|div) class="arithmatex">\s*\\[(\[](.*?)\\[)\]]\s*</\1>', re.S)
STOP = re.compile(r"\u200b?[，。；：？！、）,.;:?!)]+")
LONG = 24  # characters: a formula that may break, so that its stop need not stay with it
CODE = re.compile(
    r'(<div class="([^"]*)\bhighlight\b[^>]*>.*?<pre[^>]*>)(?:<span></span>)?(<code[^>]*>)(.*?)(</code></pre>)',
    re.S,
)
PLAIN = re.compile(r'<span class="(?:n|p|w)">([^<]*)</span>')  # as any other text of code
NEXT_LINE = re.compile(r'</span>(\s*)<span class="sd">')
DOCSTRING = re.compile(r'(<span class="sd">[^\n<]*)(\n(?:[^\n<]*\n){5,}[^<]*)</span>')
IMAGE = re.compile(r'<img (?=[^>]*src="([^":]+\.svg)")')
PHONE = 360  # pixels
NAME = re.compile(r"<code>([^<\n]*)</code>")  # within a line: blocks of code have breaks
HYPHENATED = re.compile(r"[^\s&;]*-[^\s&;]+")
LONGEST = 24  # characters that fit into a line on every phone
BUTTON = '<button type="button" class="{}" title="{}" aria-label="{}"{}>{}</button>'
# From where a cell draws to its end: it says how a figure looks, and the figure says what.
PLOT = re.compile(
    r"^(?:import matplotlib\.pyplot as plt\n+)?(?:[\w, ]+ = )?plt\.(?:figure|subplots)\(", re.M
)
SHOW = "展开文档字符串 | Show the docstring"
PLOTS = "展开画图的代码 | Show the code of the plot"
PLOTTING = "画图的代码 … | code of the plot …"
COPY = "复制 | Copy"
COPIED = "已复制 | Copied"


def finish(html: str, edition: str, folder: Path = ROOT) -> str:
    """The page's HTML as readers get it; `folder` is where its relative links begin.

    Raises:
        ValueError: a formula that KaTeX cannot set; the message says which and why.
    """
    html = IMAGE.sub(lambda image: _sized(image, folder), html)
    html = NAME.sub(lambda code: f"<code>{HYPHENATED.sub(_together, code[1])}</code>", html)
    return CODE.sub(lambda code: _light(code, edition), set_formulas(html))


def set_formulas(html: str) -> str:
    """Set every formula; in the hidden twin only what the language that is shown does not have.

    The rest of the twin waits as TeX for the script, which copies what is set already.
    """
    shown = {_tex(found) for found in FORMULA.finditer(TWIN.sub("", html))}
    hidden = [place for twin in TWIN.finditer(html) for place in twin.span()]
    parts: list[str] = []
    at = 0
    for formula in FORMULA.finditer(html):
        tag, tex = _tex(formula)
        is_hidden = bisect(hidden, formula.start()) % 2 == 1
        drawn = typeset(tex, tag == "div")
        if is_hidden and (tag, tex) in shown:
            whole = f'<{tag} class="arithmatex" data-tex="">{formula[2].strip()}</{tag}>'
        else:
            whole = f'<{tag} class="arithmatex">{drawn}</{tag}>'
        end = formula.end()
        stop = STOP.match(html, end)
        if stop and tag == "span" and _width(drawn) <= LONG:
            whole, end = f'<span class="together">{whole}{stop[0]}</span>', stop.end()
        parts += html[at : formula.start()], whole
        at = end
    return "".join([*parts, html[at:]])


def _tex(formula: re.Match[str]) -> tuple[str, str]:
    return formula[1], unescape(formula[2].strip())


def _width(drawn: str) -> int:
    """About how many characters a formula is wide."""
    visible = drawn.partition('class="katex-html"')[2]
    return len(re.sub(r"<[^>]*>|&[a-z]+;", "", visible.partition(">")[2]))


@cache
def _katex() -> MiniRacer:
    engine = MiniRacer()
    engine.eval(KATEX.read_text("utf-8"))
    return engine


@cache
def typeset(tex: str, is_display: bool) -> str:
    """A formula as HTML, with MathML beside it for those who listen."""
    options = {"displayMode": is_display, "strict": "ignore"}
    try:
        return str(_katex().call("katex.renderToString", tex, options))
    except Exception as error:
        reason = str(error).partition("ParseError: ")[2].partition("\n")[0]
        raise ValueError(f"KaTeX cannot set ${tex}$: {reason}") from None


def _sized(image: re.Match[str], folder: Path) -> str:
    """Say how large a figure will be, so that nothing jumps when it comes.

    On a phone a figure with small letters is not narrower than they can be read, and scrolls.
    """
    svg = Path(normpath(folder / image[1])).read_text("utf-8")
    wide, high = size(svg)
    small = f'style="--least: {least(svg)}px" ' if least(svg) > PHONE else ""
    return f'{image[0]}width="{wide}" height="{high}" {small}'


def _together(word: re.Match[str]) -> str:
    """Keep `--model` on one line: browsers break lines after each hyphen, in code as well."""
    is_short = len(word[0]) <= LONGEST
    return f'<span class="together">{word[0]}</span>' if is_short else word[0]


def _light(block: re.Match[str], edition: str) -> str:
    """A block of code that can be copied, with long docstrings and plotting folded."""
    before, kinds, code, text, after = block.groups()
    text = NEXT_LINE.sub(r"\1", PLAIN.sub(r"\1", text))
    show = _fold(SHOW, edition)
    text = DOCSTRING.sub(rf'\1</span>{show}<span class="folded sd" hidden>\2</span>', text)
    if plot := PLOT.search(unescape(re.sub("<[^>]*>", "", text))):
        lines = text.splitlines(keepends=True)
        first = plot.string[: plot.start()].count("\n")
        shown, hidden = "".join(lines[:first]).rstrip("\n"), "".join(lines[first:])
        if not re.search(r"^(?:print|assert)\b", plot.string[plot.start() :], re.M):
            shown += "\n" if shown else ""
            fold = _fold(PLOTS, edition, PLOTTING)
            text = f'{shown}{fold}<span class="folded" hidden>\n{hidden}</span>'
    label, done = pick(COPY, edition), f' data-done="{pick(COPIED, edition)}"'
    copy = "" if "no-copy" in kinds else BUTTON.format("copy", label, label, done, "")
    return before + code + text + after + copy


def _fold(label: str, edition: str, text: str = "…") -> str:
    label = pick(label, edition)
    return BUTTON.format("fold", label, label, ' aria-expanded="false"', pick(text, edition))
