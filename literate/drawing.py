"""Draw the diagrams of the book: tensors as cells that one can count, boxes, arrows, labels.

A diagram is a script, docs/diagrams/NAME.py, that leaves a `Drawing` in the name `drawing`. It is
460 units wide, less where it stands on a card, and a text has at least 12. A label is
`中文 | English`, or one text for both editions, and may hold formulas: `$W_i^Q$`. Of kinds there
are q, k, v (query, key, value), a (attention weights), x (all else) and o (empty); their colours
stand in docs/assets/diagram.css.
"""

import re
import runpy
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from errno import ENOENT
from html import escape
from itertools import groupby, pairwise
from typing import NamedTuple

from literate import ROOT
from literate.blocks import pick
from literate.chapter import order


WIDTH = 460
CELL = 14  # from one cell to the next
GAP = 3  # from an arrow's end to what it points at
GREEK_NAMES = "alpha beta gamma delta epsilon theta lambda mu sigma tau phi omega"
GREEK = dict(zip(GREEK_NAMES.split(), "αβγδεθλμστφω", strict=True))
SIGN_NAMES = "sqrt cdot times top sum infty dots le in odot"
SIGNS = dict(zip(SIGN_NAMES.split(), "√·×⊤∑∞…≤∈⊙", strict=True))
SHIFTS = {-1: 4, 0: 0, 1: -5}  # of a subscript and a superscript
TOKEN = re.compile(r"([_^])(?:\{([^}]*)\}|(\\[A-Za-z]+|.))|\\([A-Za-z]+) ?|([A-Za-z]{3,}|.)")

Run = tuple[str, int, bool]  # a text, its level, whether it is in italics
Point = tuple[float, float]


def numbered(label: str, *chapters: str) -> str:
    """A label after the numbers of chapters, in both languages: `8、9 层 | 8, 9 Layers`.

    Three and more in a row are a range.
    """
    numbers = {path.stem: number for path, number in order().items()}
    found = [numbers[name] for name in chapters]
    first, last = found[0], found[-1]
    in_a_row = len(found) > 2 and found == [*range(first, last + 1)]
    ours = [f"{first}–{last}"] if in_a_row else [*map(str, found)]
    zh, _, en = label.partition(" | ")
    return f"{'、'.join(ours)} {zh} | {', '.join(ours)} {en or zh}"


def chapters(*names: str) -> str:
    """The numbers of chapters as a label: `第 13、14 章 | chapters 13, 14`."""
    zh, en = numbered("", *names).split(" | ")
    return f"第 {zh}章 | {'chapters' if len(names) > 1 else 'chapter'} {en.strip()}"


def chapters_of(part: str) -> str:
    """The chapters of a part of the book as a label: `第 1 至 7 章 | chapters 1 to 7`."""
    own = [number for path, number in order().items() if path.parent.name == part]
    return f"第 {own[0]} 至 {own[-1]} 章 | chapters {own[0]} to {own[-1]}"


class Area(NamedTuple):
    """Where something was drawn, and the points at its sides where an arrow begins or ends."""

    x: float
    y: float
    width: float
    height: float

    @property
    def centre(self) -> Point:
        return self.x + self.width / 2, self.y + self.height / 2

    def top(self, at: float = 0.5) -> Point:
        return self.x + at * self.width, self.y - GAP

    def bottom(self, at: float = 0.5) -> Point:
        return self.x + at * self.width, self.y + self.height + GAP

    def left(self, at: float = 0.5) -> Point:
        return self.x - GAP, self.y + at * self.height

    def right(self, at: float = 0.5) -> Point:
        return self.x + self.width + GAP, self.y + at * self.height


class Label(NamedTuple):
    """A text, around the middle of its line."""

    x: float
    y: float
    text: str
    anchor: str
    style: str

    def render(self, edition: str) -> str:
        style = f' class="{self.style}"' if self.style else ""
        place = f'x="{self.x:g}" y="{self.y + 4.5:g}" text-anchor="{self.anchor}"'
        return f"<text {place}{style}>{spans(pick(self.text, edition))}</text>"


@dataclass
class Drawing:
    """A diagram in the making. Every method says where it drew; y grows downwards."""

    height: float
    width: float = WIDTH

    def __post_init__(self) -> None:
        self.parts: list[str | Label] = []

    @property
    def labels(self) -> list[str]:
        return [part.text for part in self.parts if isinstance(part, Label)]

    def text(
        self,
        x: float,
        y: float,
        label: str,
        *,
        anchor: str = "middle",
        small: bool = False,
        large: bool = False,
        bold: bool = False,
        kind: str = "",
    ) -> None:
        """A line of text; anchor says which part of it is at x: start, middle or end."""
        styles = (("small", small), ("large", large), ("bold", bold), (kind, kind))
        style = " ".join(name for name, on in styles if on)
        self.parts.append(Label(x, y, label, anchor, style))

    def cells(
        self,
        x: float,
        y: float,
        rows: int,
        cols: int,
        kind: str,
        *,
        pale: bool = False,
        pale_from: int | None = None,
        weights: Sequence[Sequence[float | None]] | None = None,
    ) -> Area:
        """A matrix, row by row; weights shade its cells, None crosses one out (it is masked)."""
        first_pale = 0 if pale else cols if pale_from is None else pale_from
        for shade, columns in (("", range(first_pale)), (" pale", range(first_pale, cols))):
            self.parts.append(f'<g class="cells {kind}{shade}">' if columns else "")
            for row in range(rows):
                for col in columns:
                    weight = weights[row][col] if weights else 1
                    self._cell(x + CELL * col, y + CELL * row, weight)
            self.parts.append("</g>" if columns else "")
        return Area(x, y, CELL * cols, CELL * rows)

    def _cell(self, x: float, y: float, weight: float | None) -> None:
        shade = f' fill-opacity="{weight:g}"' if weight not in (1, None) else ""
        shade = ' class="off"' if weight is None else shade
        place = Area(x + 0.5, y + 0.5, CELL - 1, CELL - 1)
        self.parts.append(f"<rect {_size(place)}{shade}/>")
        if weight is None:
            self.parts.append(f'<path d="M{x + 4:g} {y + 4:g}l6 6m0 -6l-6 6"/>')

    def box(
        self, x: float, y: float, width: float, height: float, label: str, *, kind: str = ""
    ) -> Area:
        """An operation; with a kind, in its colour."""
        return self._boxed("box", Area(x, y, width, height), f"box {kind}".strip(), 6, label)

    def group(self, x: float, y: float, width: float, height: float, label: str = "") -> Area:
        """A dashed frame around what belongs together, with its name in the corner."""
        area = Area(x, y, width, height)
        self.parts.append(f'<rect class="group" {_size(area)} rx="8"/>')
        if label:
            self.text(x + 9, y + 13, label, anchor="start", small=True)
        return area

    def circle(self, x: float, y: float, radius: float, label: str = "", *, kind: str = "") -> Area:
        """A node such as a sum; without a label a ring, as of a clock."""
        area = Area(x - radius, y - radius, 2 * radius, 2 * radius)
        return self._boxed("ring", area, f"ring {kind}".strip(), radius, label)

    def dot(self, x: float, y: float, kind: str = "x", radius: float = 3) -> Area:
        """A filled point."""
        area = Area(x - radius, y - radius, 2 * radius, 2 * radius)
        self.parts.append(f'<circle class="dot {kind}" cx="{x:g}" cy="{y:g}" r="{radius:g}"/>')
        return area

    def _boxed(self, name: str, area: Area, style: str, radius: float, label: str) -> Area:
        self.parts.append(f'<g class="{style}"><rect {_size(area)} rx="{radius:g}"/>')
        if label:
            self.text(*area.centre, label)
        self.parts.append("</g>")
        return area

    def line(self, *points: Point, kind: str = "x", dashed: bool = False) -> None:
        """A line through the points; with many of them, a curve."""
        path = "L".join(f"{x:.4g} {y:.4g}" for x, y in points)
        self.parts.append(f'<path class="line {kind}{" dashed" if dashed else ""}" d="M{path}"/>')

    def band(
        self, start: Point, end: Point, width: float, kind: str = "a", *, pale: bool = False
    ) -> None:
        """A smooth band, as wide as a weight is large, that leaves and arrives upright."""
        (x0, y0), (x1, y1) = start, end
        path = "M{0:.5g} {1:.5g}C{0:.5g} {2:.5g} {3:.5g} {2:.5g} {3:.5g} {4:.5g}".format(
            x0, y0, (y0 + y1) / 2, x1, y1
        )
        style = f"band {kind}{' pale' if pale else ''}"
        self.parts.append(f'<path class="{style}" stroke-width="{width:.3g}" d="{path}"/>')

    def arrow(
        self, *points: Point, kind: str = "x", dashed: bool = False, bend: float = 0.5
    ) -> None:
        """An arrow at right angles; two points that are not in line get a bend between them.

        It leaves the first of them downwards or upwards, and turns at this share of the way.
        """
        path = [points[0]]
        for (x0, y0), (x1, y1) in pairwise(points):
            turn = round(y0 + bend * (y1 - y0), 2)
            path += [(x0, turn), (x1, turn)] if x0 != x1 and y0 != y1 else []
            path.append((x1, y1))
        (x0, y0), (x1, y1) = path[-2:]
        far = max(abs(x1 - x0), abs(y1 - y0)) or 1
        u, v = (x1 - x0) / far, (y1 - y0) / far
        shaft = [*path[:-1], (x1 - 5 * u, y1 - 5 * v)]
        self.parts.append(
            f'<path class="line {kind}{" dashed" if dashed else ""}" d="{_rounded(shaft)}"/>'
        )
        sides = [(x1 - 7 * u - 3 * w * v, y1 - 7 * v + 3 * w * u) for w in (1, -1)]
        head = "L".join(f"{x:g} {y:g}" for x, y in [(x1, y1), *sides])
        self.parts.append(f'<path class="head {kind}" d="M{head}z"/>')

    def render(self, edition: str, name: str, alt: str, *, alone: bool = False) -> str:
        """The SVG of an edition: for a page with the style sheet, or to stand alone."""
        across, down = (560 / WIDTH * side for side in (self.width, self.height))
        size = f' width="{across:.0f}" height="{down:.0f}"' if alone else ""
        drawn = [part.render(edition) if isinstance(part, Label) else part for part in self.parts]
        if alone:
            style = (ROOT / "docs/assets/diagram.css").read_text("utf-8")
            drawn[:0] = [
                f"<style>{escape(style)}</style>",
                '<rect class="paper" width="100%" height="100%"/>',
            ]
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" '
            f'viewBox="0 0 {self.width:g} {self.height:g}"{size} '
            f'class="diagram" role="img" aria-labelledby="diagram-{name}">'
            f'<title id="diagram-{name}">{escape(alt)}</title>{"".join(drawn)}</svg>'
        )


def load(name: str) -> Drawing:
    """The diagram of a name such as `multi-head`.

    Raises:
        FileNotFoundError: There is no such source.
    """
    path = f"docs/diagrams/{name.replace('-', '_')}.py"
    if not (ROOT / path).exists():
        raise FileNotFoundError(ENOENT, "no such diagram", path)
    drawing: Drawing = runpy.run_path(str(ROOT / path))["drawing"]
    return drawing


def draw(name: str, edition: str, alt: str, *, alone: bool = False) -> str:
    """The SVG of a diagram, for one edition."""
    return load(name).render(edition, name, alt, alone=alone)


def _size(area: Area) -> str:
    return 'x="{:g}" y="{:g}" width="{:g}" height="{:g}"'.format(*area)


def _rounded(points: list[Point], radius: float = 4) -> str:
    """A path at right angles whose corners are a little round."""
    path = "M{:g} {:g}".format(*points[0])
    for (x0, y0), (x, y), (x1, y1) in zip(points, points[1:], points[2:], strict=False):
        before, after = abs(x - x0) + abs(y - y0), abs(x1 - x) + abs(y1 - y)
        r = min(radius, before / 2, after / 2)
        if r and before and after:
            path += f"L{x - r * (x - x0) / before:g} {y - r * (y - y0) / before:g}"
            path += f"Q{x:g} {y:g} {x + r * (x1 - x) / after:g} {y + r * (y1 - y) / after:g}"
    return path + "L{:g} {:g}".format(*points[-1])


def same(text: str) -> str:
    """The label of a text that is the same in both editions, such as an example's sentence."""
    return f"{text} | {text}"


def spans(label: str) -> str:
    """A label as SVG has it: what stands between dollars is a formula."""
    drawn, before, last = "", 0, ""
    for (level, italic), group in groupby(_runs(label), lambda run: run[1:]):
        text = "".join(sign for sign, *_ in group)
        style = " ".join(name for name, on in (("m", italic), ("script", level)) if on)
        marks = f' class="{style}"' if style else ""
        marks += f' dy="{SHIFTS[level] - SHIFTS[before]}"' if level != before else ""
        if level and level == -before:  # one script above the other, as in `W_i^Q`
            marks += f' dx="{-sum(3.2 if sign in "ijlt1," else 5.8 for sign in last):g}"'
        drawn += f"<tspan{marks}>{escape(text)}</tspan>" if marks else escape(text)
        last = text if level != before else last + text
        before = level
    return drawn


def _runs(label: str) -> Iterator[Run]:
    for number, text in enumerate(label.split("$")):
        if text:
            yield from _formula(text) if number % 2 else [(text, 0, False)]


def _formula(text: str, level: int = 0) -> Iterator[Run]:
    """The signs of a formula: single letters are in italics, words such as `model` are not."""
    for mark, group, one, name, sign in TOKEN.findall(text):
        if mark:
            yield from _formula(group or one, 1 if mark == "^" else -1)
        elif name in GREEK:
            yield GREEK[name], level, True
        elif name:
            if name not in SIGNS:
                raise ValueError(f"a label knows no \\{name}; add it to literate/drawing.py")
            yield SIGNS[name], level, False
        elif sign not in "{}":
            yield sign.replace("-", "−"), level, len(sign) == 1 and sign.isalpha()
