"""Figures that code draws, on a dark ground."""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pytest

from literate.plots import INK, LEGIBLE, dark, figure_svg, least, size


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


def fill(svg: str, text: str) -> str:
    element = svg[svg.rindex("<text", 0, svg.index(f">{text}</text>")) :]
    return element.partition("fill: ")[2].partition(";")[0].partition('"')[0]


def test_letters_turn_light_but_not_on_an_image(svg: str) -> None:
    shown = dark(svg)
    assert f"text {{fill: {INK}}}" in shown
    for text in ("beside", "free"):
        assert (
            "fill"
            not in shown[
                shown.rindex("<text", 0, shown.index(f">{text}<")) :
            ].partition(">")[0]
        )
    assert fill(shown, "on") == "#000"
    assert fill(shown, "white") == "#ffffff"


def test_lines_turn_light_and_images_stay(svg: str) -> None:
    shown = dark(svg)
    assert "#3f51b5" in svg
    assert "#3f51b5" not in shown
    assert "#8c9eff" in shown
    assert "stroke: #000000" in svg
    assert "#000000" not in shown
    pixels = svg[svg.index('xlink:href="data:') :].split('"')[1]
    assert pixels in shown


def test_a_figure_says_how_large_it_is(svg: str) -> None:
    wide, high = size(svg)
    assert 400 < wide < 600
    assert 150 < high < 350


def test_a_figure_says_how_wide_it_must_be() -> None:
    head = '<svg width="300pt" height="150pt">'
    text = '<text style="font-size: {}px">a</text>'.format
    assert least(head + text(11) + text(6)) == 300 * LEGIBLE / 6
    assert least(head) == 0
