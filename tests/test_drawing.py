"""The drawing kit, and each diagram of the book without a browser."""

import re
from xml.etree import ElementTree

import pytest

from literate.chapter import ROOT
from literate.drawing import CELL, Drawing, draw, spans


NAMES = sorted(
    path.stem.replace("_", "-")
    for path in (ROOT / "docs/diagrams").glob("*.py")
)
SVG = "{http://www.w3.org/2000/svg}"


def test_each_diagram_is_sound_svg_in_the_styles_of_the_sheet() -> None:
    style = (ROOT / "docs/assets/diagram.css").read_text("utf-8")
    known = set(re.findall(r"\.([a-z]+)\b", style))
    alt = 'a < b & "c"'
    for name in NAMES:
        drawn = draw(name, "en", alt)
        for classes in re.findall(r'class="([^"]+)"', drawn):
            assert set(classes.split()) <= known, name
        svg = ElementTree.fromstring(drawn)  # noqa: S314
        (title,) = svg.iter(f"{SVG}title")
        assert title.text == alt
        assert svg.get("aria-labelledby") == title.get("id") != ""
        assert [x.get("id") for x in svg.iter() if x.get("id")] == [
            title.get("id")
        ], name
        width = 220 if name.startswith("card-") else 460
        assert svg.get("viewBox", "").startswith(f"0 0 {width} "), name
        texts = ["".join(text.itertext()) for text in svg.iter(f"{SVG}text")]
        assert texts, name
        assert not [t for t in texts if "$" in t or " | " in t], name
        for group in svg.iter(f"{SVG}g"):
            if "cells" in group.get("class", ""):
                sizes = {
                    (cell.get("width"), cell.get("height"))
                    for cell in group.iter(f"{SVG}rect")
                }
                assert sizes == {("13", "13")}, name


@pytest.mark.parametrize(
    ("label", "drawn"),
    [
        ("a < b", "a &lt; b"),
        ("$Q$：3", '<tspan class="m">Q</tspan>：3'),
        (
            "$W^Q$ 3",
            '<tspan class="m">W</tspan>'
            '<tspan class="m script" dy="-5">Q</tspan>'
            '<tspan dy="5"> 3</tspan>',
        ),
        (
            "$x_{t-1}$",
            '<tspan class="m">x</tspan><tspan class="m script" dy="4">t</tspan>'
            '<tspan class="script">−1</tspan>',
        ),
        (
            r"$\alpha_i$",
            '<tspan class="m">α</tspan>'
            '<tspan class="m script" dy="4">i</tspan>',
        ),
        (
            "$W_i^K$",
            '<tspan class="m">W</tspan><tspan class="m script" dy="4">i</tspan>'
            '<tspan class="m script" dy="-9" dx="-3.2">K</tspan>',
        ),
        (
            r"$\sqrt{d_{model}}$",
            '√<tspan class="m">d</tspan>'
            '<tspan class="script" dy="4">model</tspan>',
        ),
        ("$head_1$", 'head<tspan class="script" dy="4">1</tspan>'),
    ],
)
def test_a_label_may_hold_formulas(label: str, drawn: str) -> None:
    assert spans(label) == drawn


def test_an_unknown_sign_is_named() -> None:
    with pytest.raises(ValueError, match=r"knows no \\nope; add it"):
        spans(r"$\nope$")


def test_arrows_begin_and_end_at_the_sides_of_a_box() -> None:
    box = Drawing(height=100).box(100, 70, 40, 20, "$W$")
    assert box.centre == (120, 80)
    assert (box.top(0.25), box.bottom(0.25)) == ((110, 67), (110, 93))
    assert (box.left(0.25), box.right(0.25)) == ((97, 75), (143, 75))


def paths(drawing: Drawing) -> list[str]:
    svg = ElementTree.fromstring(drawing.render("en", "x", ""))  # noqa: S314
    return [path.get("d", "") for path in svg.iter(f"{SVG}path")]


def test_an_arrow_turns_at_right_angles_and_stops_short() -> None:
    drawing = Drawing(height=100)
    above = drawing.cells(8, 8, 2, 3, "q")
    below = drawing.box(100, 70, 40, 20, "$W$")
    drawing.arrow(above.bottom(), below.top(), bend=0.25)
    assert (above.width, above.height) == (3 * CELL, 2 * CELL)
    assert above.bottom() == (29, 39)
    assert below.top() == (120, 67)
    shaft, head = paths(drawing)
    assert shaft == "M29 39L29 42.5Q29 46 32.5 46L116 46Q120 46 120 50L120 62"
    assert head == "M120 67L117 60L123 60z"


DRAWN = """\
<rect class="group" x="10" y="20" width="30" height="40" rx="8"/>
<text x="19" y="37.5" text-anchor="start" class="small">A</text>
<g class="ring"><rect x="42" y="52" width="16" height="16" rx="8"/></g>
<g class="ring q"><rect x="82" y="52" width="16" height="16" rx="8"/>
<text x="90" y="64.5" text-anchor="middle">+</text></g>
<circle class="dot k" cx="70" cy="30" r="4"/>
<g class="cells v"><rect x="100.5" y="10.5" width="13" height="13"/>
<rect x="100.5" y="24.5" width="13" height="13"/></g>
<g class="cells v pale"><rect x="114.5" y="10.5" width="13" height="13"/>
<rect x="128.5" y="10.5" width="13" height="13"/>
<rect x="114.5" y="24.5" width="13" height="13"/>
<rect x="128.5" y="24.5" width="13" height="13"/></g>
<path class="line x" d="M10 10L10 26Q10 30 10 34L10 46Q10 50 14 50\
L36 50Q40 50 40 54L40 65"/><path class="head x" d="M40 70L37 63L43 63z"/>
<path class="line x dashed" d="M60 80L25 80"/>
<path class="head x" d="M20 80L27 77L27 83z"/>
<path class="line x" d="M5 5L5 5"/><path class="head x" d="M5 5L5 5L5 5z"/>
<path class="line k dashed" d="M0 0L1.5 2"/>
<text x="60" y="14.5" text-anchor="middle" class="large bold q">B</text>
<path class="band v" stroke-width="2.5" d="M10 20C10 35 40 35 40 50"/>
<path class="band a pale" stroke-width="9" d="M4.5 8C4.5 4 4.5 4 4.5 0"/>"""


def test_all_that_can_be_drawn() -> None:
    drawing = Drawing(height=90)
    drawing.group(10, 20, 30, 40, "甲 | A")
    assert drawing.circle(50, 60, 8).top() == (50, 49)
    drawing.circle(90, 60, 8, "$+$", kind="q")
    assert drawing.dot(70, 30, "k", radius=4).right() == (77, 30)
    drawing.cells(100, 10, 2, 3, "v", pale_from=1)
    drawing.arrow((10, 10), (10, 30), (40, 70))
    drawing.arrow((60, 80), (20, 80), dashed=True)
    drawing.arrow((5, 5), (5, 5))  # which has no direction
    drawing.line((0, 0), (1.5, 2), kind="k", dashed=True)
    drawing.text(60, 10, "乙 | B", large=True, bold=True, kind="q")
    drawing.band((10, 20), (40, 50), 2.5, "v")
    drawing.band((4.5, 8), (4.5, 0), 9, pale=True)
    svg = drawing.render("en", "n", "a<b")
    head, _, body = svg.partition("</title>")
    assert body == DRAWN.replace("\n", "") + "</svg>"
    assert 'viewBox="0 0 460 90" class="diagram"' in head
    assert head.endswith('<title id="diagram-n">a&lt;b')
    alone = drawing.render("zh", "n", "", alone=True)
    assert 'viewBox="0 0 460 90" width="560" height="110" ' in alone
    assert 'class="small">甲</text>' in alone


def test_weights_shade_cells_and_none_crosses_one_out() -> None:
    drawing = Drawing(height=100)
    drawing.cells(8, 8, 1, 3, "a", weights=[[0.25, None, 1]])
    svg = ElementTree.fromstring(drawing.render("en", "x", ""))  # noqa: S314
    cells = list(svg.iter(f"{SVG}rect"))
    assert [cell.get("fill-opacity") for cell in cells] == ["0.25", None, None]
    assert [cell.get("class") for cell in cells] == [None, "off", None]
    assert len(paths(drawing)) == 1
