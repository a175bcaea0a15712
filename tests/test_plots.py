"""Figures that code draws, on a dark ground."""

import base64
import io
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pytest
from PIL import Image

from literate.plots import INK, LEGIBLE, NIGHT, dark, figure_svg, least, size


@pytest.fixture
def svg() -> str:
    with plt.rc_context(fname=Path("literate/matplotlibrc")):
        figure, (left, right) = plt.subplots(1, 2)
        left.imshow(np.eye(4))
        left.text(0, 0, "on", ha="center", va="center")
        left.text(3, 3, "white", color="white", ha="center")
        left.set_title("beside")
        right.plot([0, 1])
        right.text(0.5, 0.5, "free")
        drawn = figure_svg(figure, "en")
        plt.close(figure)
    return drawn


def pixels_of(svg: str) -> np.ndarray:
    data = svg[svg.index("base64,") + 7 :].partition('"')[0]
    image = Image.open(io.BytesIO(base64.b64decode(data))).convert("RGBA")
    return np.asarray(image).astype(int)


def test_letters_turn_light_and_white_ones_dark(svg: str) -> None:
    shown = dark(svg)
    assert f"text {{fill: {INK}}}" in shown
    for text in ("on", "beside", "free", "white"):
        start = shown.rindex("<text", 0, shown.index(f">{text}<"))
        fill = shown[start:].partition(">")[0].partition("fill: ")[2]
        assert fill.partition(";")[0].partition('"')[0] == (
            NIGHT if text == "white" else ""
        )


def test_lines_turn_light(svg: str) -> None:
    shown = dark(svg)
    assert "#3f51b5" in svg
    assert "#3f51b5" not in shown
    assert "#8c9eff" in shown
    assert "stroke: #000000" in svg
    assert "#000000" not in shown


def test_the_pixels_of_an_image_turn_too_and_keep_their_hue(svg: str) -> None:
    before, after = pixels_of(svg), pixels_of(dark(svg))
    assert before.shape == after.shape
    assert np.array_equal(before[..., 3], after[..., 3])
    ink = before[..., :3].sum(-1)
    at = [np.unravel_index(f(ink), ink.shape) for f in (np.argmax, np.argmin)]
    light, strong = (after[place][:3] for place in at)
    assert light.max() < 50
    assert strong.max() > 180
    assert strong.argmax() == before[at[1]][:3].argmax() == 2  # still violet


def test_a_figure_says_how_large_it_is(svg: str) -> None:
    wide, high = size(svg)
    assert 400 < wide < 600
    assert 150 < high < 350


def test_a_figure_says_how_wide_it_must_be() -> None:
    head = '<svg width="300pt" height="150pt">'
    text = '<text style="font-size: {}px">a</text>'.format
    assert least(head + text(11) + text(6)) == 300 * LEGIBLE / 6
    assert least(head) == 0
