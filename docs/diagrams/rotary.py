"""Rotary positions: query and key turn, and keep their angle."""

import math

from literate.drawing import Drawing


OMEGA = 0.4  # radians a position
RADIUS = 56
ARC = 26  # radius of the arc between the two
PAIRS = ((3, 1), (6, 4), (1, 3))  # positions of query and key
CENTRES = (82, 230, 378)

drawing = Drawing(height=214)


def at(centre, radius, angle):
    """The point at an angle, counter-clockwise from the right."""
    x, y = centre
    return x + radius * math.cos(angle), y - radius * math.sin(angle)


for x, (query, key) in zip(CENTRES, PAIRS, strict=True):
    centre = (x, 92)
    drawing.circle(*centre, RADIUS)
    drawing.line(centre, at(centre, RADIUS, 0), dashed=True)
    first = OMEGA * key
    last = OMEGA * query
    arc = [first + (last - first) * n / 24 for n in range(25)]
    drawing.line(*(at(centre, ARC, angle) for angle in arc), kind="a")
    middle = at(centre, ARC + 15, (first + last) / 2)
    drawing.text(*middle, f"${query - key}\\omega$")
    for kind, position in (("q", query), ("k", key)):
        tip = at(centre, RADIUS, OMEGA * position)
        drawing.line(centre, tip, kind=kind)
        drawing.dot(*tip, kind)
        drawing.text(*at(centre, RADIUS + 12, OMEGA * position), f"${kind}$")
    drawing.text(
        x, 171, f"查询在位置 {query} | query at position {query}", small=True
    )
    drawing.text(x, 186, f"键在位置 {key} | key at position {key}", small=True)
    side = "键在左边第 2 个 | key 2 to the left"
    if key > query:
        side = "键在右边第 2 个 | key 2 to the right"
    drawing.text(x, 203, side, bold=True)
