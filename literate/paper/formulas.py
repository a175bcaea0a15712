"""Formulas as pictures, for readers of EPUBs that know no MathML: set by typst, as in the PDF."""

import json
import re
from collections.abc import Callable
from html import escape, unescape
from pathlib import Path
from typing import Any

import typst


MATH = re.compile(r'<math( display="block")?><annotation [^>]*>(.*?)</annotation></math>', re.S)
POINTS = 10  # an em
PAGES = f"""#set page(width: auto, height: auto, margin: 0.5pt, fill: white)
#set text(size: {POINTS}pt, top-edge: "bounds", bottom-edge: "bounds")
#show math.equation: set text(font: ("New Computer Modern Math", "Noto Serif CJK SC"))
#let picture(it) = page(context {{
  let size = measure(it)
  let below = measure([#box(height: 90pt)#it]).height - 90pt
  [#metadata((size.width.pt() + 1, below.pt() + 0.5))<size>]
  it
}})
"""


def pictures(html: str, folder: Path, pandoc: Callable[[str, str], str], fonts: typst.Fonts) -> str:
    """The book with an image, put into the folder, in the place of each formula."""
    found = {formula[0]: formula for formula in MATH.finditer(html)}
    source = pandoc("".join(f"<p>{formula}</p>" for formula in found), "typst")
    shown = source.strip().split("\n\n")
    if len(shown) != len(found):
        raise ValueError(f"{len(found)} formulas became {len(shown)} paragraphs")
    file = folder / "formulas.typ"
    file.write_text(PAGES + "\n".join(f"#picture[{one}]" for one in shown), "utf-8")
    drawn: Any = typst.compile(str(file), format="svg", font_paths=fonts)
    sizes = json.loads(typst.query(str(file), "<size>", field="value", font_paths=fonts))
    images: dict[str, str] = {}
    for number, (formula, svg, (width, below)) in enumerate(
        zip(found, drawn, sizes, strict=True), 1
    ):
        name = f"formula-{number}.svg"
        (folder / name).write_bytes(svg)
        is_display, tex = found[formula].groups()
        style = f"width: {width / POINTS:.2f}em"
        style += "" if is_display else f"; vertical-align: {-below / POINTS:.2f}em"
        alt = escape(unescape(tex))
        images[formula] = f'<img class="math" src="{name}" alt="{alt}" style="{style}">'
    return MATH.sub(lambda formula: images[formula[0]], html)
