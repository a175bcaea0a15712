"""Pictures that no browser draws: SVGs whose colours are their own, on a white ground.

On the site a diagram takes its colours from a style sheet. What shows the book elsewhere knows
neither the sheet nor CSS variables, and by night it may turn the page black.
"""

import re
from functools import cache

from bs4 import BeautifulSoup
from bs4.element import PageElement

from literate import ROOT
from literate.blocks import HAN


SHEET = ROOT / "docs/assets/diagram.css"
RULE = re.compile(r"([^{}]+)\{([^{}]*)\}")
# Comments, fonts, other media, other schemes, and the theme's.
NOT_HERE = re.compile(
    r"/\*.*?\*/|@font-face[^}]*\}|@media[^{]*\{(?:[^{}]*\{[^{}]*\})*\s*\}|^[.[](?:md-|data-md)[^}]*\}",
    re.S | re.M,
)
VARIABLE = re.compile(r"var\((--[\w-]+)(?:, *((?:[^()]|\([^()]*\))*))?\)")
LAYOUT = {"display", "width", "max-width", "height", "margin", "pointer-events"}
FONT = re.compile(r"(italic )?(\d+px)(?:/1)? (.*)")
MATH = '"New Computer Modern", Georgia, "Times New Roman", serif'
LETTER = re.compile(rf"(<tspan[^>]*)italic([^>]*){re.escape(MATH)}([^>]*>)([^<]*)(?=</tspan>)")
FAMILIES = {  # by the site's first choice: first those that the PDF has, then readers'
    "Diagram signs": '"Noto Sans CJK SC", sans-serif',
    "Diagram math": MATH,
    "Georgia": '"Noto Serif CJK SC", Georgia, serif',
}
TEXT = re.compile(r"<text\b.*?</text>", re.S)
PLOT_FONT = "'DejaVu Sans'", "'Noto Sans CJK SC', 'DejaVu Sans'"
GROUND = '<rect width="100%" height="100%" fill="#fff"/>'


@cache
def rules() -> list[tuple[str, dict[str, str]]]:
    """Each selector of the style sheet with what it declares, later ones over earlier ones."""
    found = []
    for selector, body in RULE.findall(NOT_HERE.sub("", SHEET.read_text("utf-8"))):
        pairs = (one.split(":", 1) for one in body.split(";") if one.strip())
        found.append((selector.strip(), {name.strip(): value.strip() for name, value in pairs}))
    return found


def still(svg: str) -> str:
    """A diagram of the site with the colours of the light scheme written into it."""
    soup = BeautifulSoup(svg, "xml")
    given: dict[int, dict[str, str]] = {}
    for selector, declared in rules():
        for tag in soup.select(selector):
            given.setdefault(id(tag), {}).update(declared)
    for tag in soup.find_all(True):
        style: dict[str, str] = {}
        for name, value in given.get(id(tag), {}).items():
            resolved = _resolved(value, tag, given)
            if name == "rx":  # which is an attribute where CSS is not whole
                tag["rx"] = resolved.removesuffix("px")
            elif found := FONT.fullmatch(resolved):
                style["font-style"] = "italic" if found[1] else "normal"
                style["font-size"] = found[2]
                style["font-family"] = _families(found[3])
            elif name == "font-family":
                style[name] = _families(resolved)
            elif name not in LAYOUT and not name.startswith("--"):
                style[name] = resolved
        if style:
            tag["style"] = "; ".join(map(": ".join, style.items()))
        del tag["class"]
    return grounded(str(soup.svg))


def _resolved(value: str, tag: PageElement, given: dict[int, dict[str, str]]) -> str:
    """A value with each variable as the nearest element that sets it says."""

    def of(found: re.Match[str]) -> str:
        for place in (tag, *tag.parents):
            if one := given.get(id(place), {}).get(found[1]):
                return _resolved(one, place, given)
        if found[2] is None:
            raise ValueError(f"{SHEET.name} sets no {found[1]}, which a diagram uses")
        return _resolved(found[2], tag, given)

    return VARIABLE.sub(of, value)


def _families(value: str) -> str:
    return FAMILIES.get(value.partition(",")[0].strip('"'), value)


def grounded(svg: str) -> str:
    """An SVG on white, without its prologue, which may stand beside others in a book.

    Chinese in a plot comes from the font of the book, and not from any that has the signs. Of two
    images that are alike matplotlib gives both the same id, which nothing uses.
    """
    svg = re.sub(r' id="image\w+"', "", svg[svg.index("<svg") :])
    svg = TEXT.sub(
        lambda text: text[0].replace(*PLOT_FONT) if HAN.search(text[0]) else text[0], svg
    )
    return re.sub(r"<svg[^>]*>", lambda root: root[0] + GROUND, svg, count=1)


def for_typst(svg: str) -> str:
    """A diagram as typst needs it, which sets a text that holds Chinese in one upright font.

    Letters of formulas stay in italics as signs of their own, which that font does not have.
    """

    def sign(found: re.Match[str]) -> str:
        text = "".join(_italic(letter) for letter in found[4])
        return f'{found[1]}normal{found[2]}"New Computer Modern Math"{found[3]}{text}'

    return TEXT.sub(lambda text: LETTER.sub(sign, text[0]) if HAN.search(text[0]) else text[0], svg)


def _italic(letter: str) -> str:
    for first, last, there in ("AZ\U0001d434", "az\U0001d44e", "αω\U0001d6fc"):
        if first <= letter <= last:
            return "ℎ" if letter == "h" else chr(ord(there) + ord(letter) - ord(first))
    return letter
