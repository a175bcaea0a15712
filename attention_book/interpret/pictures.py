# Made from docs/source/explain.md (4ec62eb21e05). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""Heat maps, which are tables with coloured cells.

Explained on the page "Tools for explanations".
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

from jaxtyping import Float
from torch import Tensor

from attention_book._checks import check_size


__all__ = ["HeatMap", "to_html"]


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


_STYLE = """
:root { color-scheme: light dark; --above: #7446ad; --below: #b4530a }
@media (prefers-color-scheme: dark) {
  :root { --above: #b896ec; --below: #f0a35e }
}
body { font: 16px/1.5 system-ui, "Noto Sans CJK SC", sans-serif;
  margin: 1.5rem auto; max-width: 60rem; padding: 0 1rem }
.scroll { margin: 2rem 0; max-width: 100%; overflow-x: auto }
.scroll:focus-visible { outline: 2px solid }
table { border-collapse: collapse; font-size: .875rem }
caption { font-weight: 600; padding: .5rem 0; text-align: left }
th, td { border: 1px solid #8883; padding: .25rem .5rem }
td { font-variant-numeric: tabular-nums; text-align: right }
.above { background: color-mix(in srgb, var(--above) var(--share), Canvas) }
.below { background: color-mix(in srgb, var(--below) var(--share), Canvas) }
"""


def _cell(value: float, most: float) -> str:
    """Write a number, coloured by how large it is, but not one of 0.00."""
    rounded = round(value, 2)
    if not rounded:
        return "<td>0.00</td>"
    kind = "above" if value > 0 else "below"
    share = f"{50 * abs(value) / most:.0f}%"  # all of it would hide the number
    return f'<td class="{kind}" style="--share: {share}">{rounded:.2f}</td>'


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
    most = heat_map.values.abs().max().item() if names else 1.0
    for name, values in zip(
        heat_map.row_names, heat_map.values.tolist(), strict=True
    ):
        cells = "".join(_cell(value, most) for value in values)
        yield f'<tr><th scope="row">{escape(name)}</th>{cells}</tr>'
    yield "</tbody></table></div>"


def to_html(heat_maps: Sequence[HeatMap], title: str) -> str:
    """Make a page of tables whose cells are the darker the larger they are.

    It follows the reader's light or dark scheme.
    """
    return "\n".join(
        [
            "<!doctype html>",
            '<html lang="en"><head><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width">',
            f"<title>{escape(title)}</title>",
            f"<style>{_STYLE}</style></head><body><main>",
            f"<h1>{escape(title)}</h1>",
            "<p>The larger a number, the stronger its colour; those below 0 "
            "have another.</p>",
            *(line for each in heat_maps for line in _to_table(each)),
            "</main></body></html>\n",
        ]
    )
