"""Sinusoidal positions: four clocks, each ten times as slow as the last."""

import math

from literate.drawing import CELL, Drawing


POSITIONS = (0, 1, 2, 3, 10, 100, 1000)
TURNS = ("1", "1/10", "1/100", "1/1000")
RADIUS = 17
SHOWN = 3  # the column whose encoding is written out
LEFT = 131
STEP = 49

drawing = Drawing(height=322)


def clock(x, y, angle):
    """A clock whose hand points up at first, and turns clockwise."""
    drawing.circle(x, y, RADIUS)
    tip = (x + 14 * math.sin(angle), y - 14 * math.cos(angle))
    drawing.line((x, y), tip)
    drawing.dot(*tip, radius=2.5)


drawing.text(8, 19, "位置 | position", anchor="start")
column = LEFT + STEP * SHOWN
frame = drawing.group(column - 24, 6, 48, 214)
for c, position in enumerate(POSITIONS):
    drawing.text(LEFT + STEP * c, 19, f"{position}")
for i, turn in enumerate(TURNS):
    y = 53 + 47 * i
    drawing.text(8, y - 8, f"针 $i = {i}$ | hand $i = {i}$", anchor="start")
    label = f"每步 {turn} 弧度 | {turn} rad a step"
    drawing.text(8, y + 8, label, anchor="start", small=True)
    for c, position in enumerate(POSITIONS):
        clock(LEFT + STEP * c, y, position / 10**i)

SHADES = [  # from 0.12 for −1 to 1 for 1
    round(0.56 + 0.44 * f(SHOWN / 10**i), 2)
    for i in range(4)
    for f in (math.sin, math.cos)
]
cells = drawing.cells(column - 4 * CELL, 252, 1, 8, "x", weights=[SHADES])
drawing.arrow(frame.bottom(), cells.top())
for i in range(4):
    x = cells.x + CELL * (2 * i + 1)
    y = cells.bottom()[1]
    drawing.line(
        (x - 11, y + 1), (x - 11, y + 5), (x + 11, y + 5), (x + 11, y + 1)
    )
    drawing.text(x, y + 15, f"{i}", small=True)
drawing.text(cells.x - 9, y + 15, "$i$", anchor="end", small=True)
y = cells.centre[1]
drawing.text(cells.x - 9, y, "$PE_3$", anchor="end")
drawing.text(
    230,
    308,
    "每根针记成两个数：sin、cos | each hand is two numbers: sin, cos",
    small=True,
)
