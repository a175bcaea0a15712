# Made from docs/source/explain.md (2c9c30543508). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""Heat maps, as pictures and as tables.

Explained in the chapter "Tools for explanations".
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

from jaxtyping import Float
from torch import Tensor

from attention_book._checks import check_size


__all__ = ["HeatMap", "to_html", "to_svg"]


@dataclass(frozen=True)
class HeatMap:
    """Numbers with a name for each row and each column, drawn as colours.

    Attributes:
        title: What the numbers are.
        row_names: Of each row.
        column_names: Of each column.
        values: The numbers.

    Raises:
        ValueError: Not one number for each row and column.
    """

    title: str
    row_names: Sequence[str]
    column_names: Sequence[str]
    values: Float[Tensor, "rows columns"]

    def __post_init__(self) -> None:
        wanted = (len(self.row_names), len(self.column_names))
        if self.values.shape != wanted:
            raise ValueError(
                f"values must be {wanted}, as many as rows and columns, got "
                f"{tuple(self.values.shape)}"
            )

    def largest(self, row: int, n: int = 3) -> list[tuple[str, float]]:
        """Return the n columns of a row with the largest numbers."""
        check_size("n", n)
        found = self.values[row].topk(min(n, len(self.column_names)))
        return [
            (self.column_names[int(column)], float(value))
            for value, column in zip(*found, strict=True)
        ]


_CELL = 24  # of the picture's units


_STYLE = """
.heat { color: #1d1b16; font: 13px system-ui, "Noto Sans CJK SC", sans-serif }
.heat text { fill: currentColor }
.heat .above { fill: #7446ad }
.heat .below { fill: #b4530a }
@media (prefers-color-scheme: dark) {
  .heat { color: #eceae4 }
  .heat .above { fill: #b896ec }
  .heat .below { fill: #f0a35e }
}
"""


def _number(value: float) -> str:
    """Write a number with two digits, and none as -0.00."""
    return f"{round(value, 2) + 0:.2f}"


def _length(text: str) -> float:
    """Return about how long a text is drawn, Chinese letters as squares."""
    return sum(13.0 if ord(letter) > 0x2E80 else 7.5 for letter in text)


def _cells(heat_map: HeatMap, left: float, top: float) -> Iterator[str]:
    """Draw a square for each number that is not 0, darkest for the largest."""
    most = heat_map.values.abs().max().item() or 1.0
    for i, (row, values) in enumerate(
        zip(heat_map.row_names, heat_map.values.tolist(), strict=True)
    ):
        for j, (column, value) in enumerate(
            zip(heat_map.column_names, values, strict=True)
        ):
            opacity = round(abs(value) / most, 2)
            if not opacity:
                continue
            kind = "above" if value > 0 else "below"
            yield (
                f'<rect class="{kind}" fill-opacity="{opacity}" '
                f'x="{left + j * _CELL:g}" y="{top + i * _CELL:g}" '
                f'width="{_CELL - 2}" height="{_CELL - 2}" rx="2">'
                f"<title>{escape(f'{row}, {column}: {_number(value)}')}"
                "</title></rect>"
            )


def _draw(heat_map: HeatMap, top: float) -> tuple[list[str], float, float]:
    """Draw a heat map below top: its elements, width and height."""
    left = max(map(_length, heat_map.row_names), default=0) + 10
    above = max(map(_length, heat_map.column_names), default=0) * 0.87 + 34
    first = top + above
    parts = [f'<text y="{top + 14:g}">{escape(heat_map.title)}</text>']
    for j, name in enumerate(heat_map.column_names):
        x = left + (j + 0.5) * _CELL
        parts.append(
            f'<text transform="translate({x:g} {first - 6:g}) rotate(-60)">'
            f"{escape(name)}</text>"
        )
    for i, name in enumerate(heat_map.row_names):
        y = first + (i + 0.65) * _CELL
        parts.append(
            f'<text x="{left - 8:g}" y="{y:g}" text-anchor="end">'
            f"{escape(name)}</text>"
        )
    parts += _cells(heat_map, left, first)
    slant = max(map(_length, heat_map.column_names), default=0) * 0.5
    width = max(
        left + len(heat_map.column_names) * _CELL + slant,
        _length(heat_map.title),
    )
    return parts, width, above + len(heat_map.row_names) * _CELL + 16


def _describe(heat_map: HeatMap) -> str:
    """Say for each row which column has the largest number."""
    if not heat_map.column_names:
        return f"{heat_map.title}: nothing."
    rows = []
    for i, name in enumerate(heat_map.row_names):
        ((column, value),) = heat_map.largest(i, 1)
        rows.append(f"{name} {column} {_number(value)}")
    return f"{heat_map.title}. Largest of each row: {'; '.join(rows)}."


def to_svg(heat_maps: Sequence[HeatMap], title: str) -> str:
    """Draw heat maps one below the other, as a picture that stands alone.

    It follows the reader's light or dark scheme. Its description says which
    number of each row is largest, for those who can not see it.
    """
    parts: list[str] = []
    width = height = 0.0
    for heat_map in heat_maps:
        drawn, needed, tall = _draw(heat_map, height)
        parts += drawn
        width = max(width, needed)
        height += tall
    description = " ".join(map(_describe, heat_maps))
    label = escape(f"{title}. {description}")
    return "\n".join(
        [
            '<svg xmlns="http://www.w3.org/2000/svg" class="heat" role="img" '
            f'aria-label="{label}" '
            f'viewBox="-4 -4 {width + 8:g} {height + 8:g}" '
            f'width="{width + 8:g}" height="{height + 8:g}">',
            f"<title>{escape(title)}</title>",
            f"<desc>{escape(description)}</desc>",
            f"<style>{_STYLE}</style>",
            *parts,
            "</svg>\n",
        ]
    )


_PAGE_STYLE = """
:root { color-scheme: light dark }
body { font: 16px/1.5 system-ui, "Noto Sans CJK SC", sans-serif;
  margin: 1.5rem auto; max-width: 60rem; padding: 0 1rem }
section { display: flex; flex-wrap: wrap; gap: 2rem; margin: 2rem 0 }
.scroll { max-width: 100%; overflow-x: auto }
.scroll:focus-visible { outline: 2px solid }
table { border-collapse: collapse; font-size: .875rem }
caption { font-weight: 600; padding: .5rem 0; text-align: left }
th, td { border-bottom: 1px solid #8886; padding: .25rem .5rem }
td { font-variant-numeric: tabular-nums; text-align: right }
"""


def _to_table(heat_map: HeatMap) -> Iterator[str]:
    """Write the numbers as a table that can be scrolled by keyboard."""
    title = escape(heat_map.title)
    yield (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{title}">'
    )
    names = "".join(
        f'<th scope="col">{escape(name)}</th>'
        for name in heat_map.column_names
    )
    yield f"<table><caption>{title}</caption>"
    yield f"<thead><tr><td></td>{names}</tr></thead><tbody>"
    for name, values in zip(
        heat_map.row_names, heat_map.values.tolist(), strict=True
    ):
        cells = "".join(f"<td>{_number(value)}</td>" for value in values)
        yield f'<tr><th scope="row">{escape(name)}</th>{cells}</tr>'
    yield "</tbody></table></div>"


def to_html(heat_maps: Sequence[HeatMap], title: str) -> str:
    """Make a page: each heat map, and beside it a table of its numbers."""
    parts = []
    for heat_map in heat_maps:
        label = escape(f"Picture: {heat_map.title}")
        parts += [
            '<section><div class="scroll" tabindex="0" role="region" '
            f'aria-label="{label}">',
            to_svg([heat_map], heat_map.title),
            "</div>",
            *_to_table(heat_map),
            "</section>",
        ]
    return "\n".join(
        [
            "<!doctype html>",
            '<html lang="en"><head><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width">',
            f"<title>{escape(title)}</title>",
            f"<style>{_PAGE_STYLE}</style></head><body><main>",
            f"<h1>{escape(title)}</h1>",
            "<p>The darker a cell, the larger its number; those below 0 have "
            "another colour. Each number stands in the table.</p>",
            *parts,
            "</main></body></html>\n",
        ]
    )
