"""The figures that code draws: as SVG in one language, in the light and in the dark."""

import io
import re
from base64 import b64decode, b64encode
from typing import Any
from unittest.mock import patch

from literate.blocks import split_label


WIDE = re.compile(r"[\u3000-\u9fff\uf900-\ufaff\uff00-\uffef]")
PIXELS = re.compile(r'(?<=xlink:href="data:image/png;base64,)[^"]*')
LEGIBLE = 9  # pixels
INK = "#e2ded5"
NIGHT = "#16171b"
# What is dark on a light ground, and what takes its place on a dark one.
DARK = {
    "#000000": INK,
    "#ffffff": NIGHT,
    "#808080": "#9a978f",
    "#3f51b5": "#8c9eff",
    "#d95f02": "#ff9249",
    "#1b9e77": "#4fc9a0",
    "#c2185b": "#f26ea3",
    "#7a6a00": "#cbb84a",
    "#1f77b4": "#5aa9e6",  # the labs have the colours of matplotlib
    "#ff7f0e": "#ff9f4a",
    "#2ca02c": "#6cc26c",
    "#d62728": "#f2726f",
    "#9467bd": "#b794e0",
}


# What stands in the place of a figure until its chapter has drawn it.
FRAME = """<svg xmlns="http://www.w3.org/2000/svg" width="345pt" height="230pt" viewBox="0 0 345 230">
<rect x="1" y="1" width="343" height="228" rx="6" fill="none" stroke="#808080" stroke-opacity="0.4" stroke-dasharray="6 5"/>
</svg>
"""


def figure_svg(figure: Any, edition: str) -> str:
    """A figure of matplotlib as SVG, with the edition's side of every `中文 | English` in it.

    Text stays text, and the reader's browser has Chinese glyphs. Here matplotlib need not have
    any: it takes a Chinese character to be as wide as it will be, one em, about that of a W.

    Raises:
        ValueError: Chinese and a formula in one text, which matplotlib sets with its own glyphs.
    """
    from matplotlib.text import Text
    from matplotlib.textpath import TextToPath

    text_of, measure = Text.get_text, TextToPath.get_text_width_height_descent

    def one_side(self: Any) -> str:
        text = split_label(text_of(self), edition)
        if WIDE.search(text) and text.count("$") > 1:
            raise ValueError(f"no Chinese with a formula in a plot, got `{text}`; write it as d_k")
        return text

    def measure_wide(self: Any, s: str, *args: Any, **options: Any) -> Any:
        return measure(self, WIDE.sub("W", s), *args, **options)

    drawn = io.StringIO()
    with (
        patch.object(Text, "get_text", one_side),
        patch.object(TextToPath, "get_text_width_height_descent", measure_wide),
    ):
        figure.savefig(drawn, format="svg", metadata={"Date": None})
    return drawn.getvalue()


def dark(svg: str) -> str:
    """A figure for a dark ground: what is dark turns light, and what is light dark."""
    parts = PIXELS.split(svg)  # letters of pixels may look like a colour
    images = [_dark_pixels(pixels) for pixels in PIXELS.findall(svg)]
    for i, part in enumerate(parts):
        parts[i] = re.sub("#[0-9a-f]{6}", lambda hue: DARK.get(hue[0], hue[0]), part)
    light = f"text {{fill: {INK}}} *{{stroke-linejoin"  # what says nothing of its colour is black
    whole = "".join(text for pair in zip(parts, [*images, ""], strict=True) for text in pair)
    return whole.replace("*{stroke-linejoin", light, 1)


def _dark_pixels(pixels: str) -> str:
    """An image whose colours keep their hue, and turn from light to dark or back."""
    import numpy as np
    from PIL import Image

    image = np.asarray(Image.open(io.BytesIO(b64decode(pixels))).convert("RGBA"))
    colours = image[..., :3] / 255
    colours = colours + 1 - colours.max(-1, keepdims=True) - colours.min(-1, keepdims=True)
    colours = 0.09 + 0.85 * colours  # white is as dark as the page, and black as light as its ink
    turned = np.concatenate([np.round(255 * colours).astype("uint8"), image[..., 3:]], axis=-1)
    drawn = io.BytesIO()
    Image.fromarray(turned).save(drawn, "png")
    return b64encode(drawn.getvalue()).decode()


def size(svg: str) -> tuple[int, int]:
    """How wide and high a figure is, in pixels."""
    wide, high = re.findall(r'(?:width|height)="([\d.]+)pt"', svg[:1000])[:2]
    return round(float(wide) * 4 / 3), round(float(high) * 4 / 3)


def least(svg: str) -> int:
    """How wide a figure must be for its smallest text to be legible, in pixels."""
    letters = [float(points) for points in re.findall(r"(?:font-size|font): ([\d.]+)px", svg)]
    return round(size(svg)[0] * 0.75 * LEGIBLE / min(letters)) if letters else 0
