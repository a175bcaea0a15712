"""Softmax, 1.5-entmax and sparsemax of three scores: what a threshold leaves."""

from literate.drawing import CELL, Drawing, same


SCORES = (1.0, 0.5, -0.5)
UNIT = 4  # cells for a difference of 1
FLOOR = -1.25  # where the columns begin
COLUMNS = (  # name, threshold as a score, weights
    ("softmax", None, (0.547, 0.331, 0.122)),
    ("1.5-entmax", -0.639, (0.671, 0.324, 0.005)),
    ("sparsemax", 0.25, (0.75, 0.25, 0.0)),
)
BASE = 178  # y of the floor
STEP = 3 * CELL  # from one key to the next

drawing = Drawing(height=270)
for number, (name, threshold, weights) in enumerate(COLUMNS):
    left = 20 + 152 * number
    drawing.text(left + STEP + CELL / 2, 12, same(name), bold=True)
    for key, (score, weight) in enumerate(zip(SCORES, weights, strict=True)):
        x = left + STEP * key
        height = round(UNIT * (score - FLOOR))
        top = BASE - CELL * height
        above = height
        if threshold is not None:
            above = max(0.0, UNIT * (score - threshold))
        whole = int(above)
        if whole:
            drawing.cells(x, top, whole, 1, "a")
        rest = height - whole
        if above > whole:  # the cell that the threshold cuts
            share = [[max(0.2, above - whole)]]
            drawing.cells(x, top + CELL * whole, 1, 1, "a", weights=share)
            rest -= 1
        if rest:
            drawing.cells(x, BASE - CELL * rest, rest, 1, "x", pale=True)
        sign = f"{score:g}".replace("-", "−")
        drawing.text(x + CELL / 2, top - 9, sign, small=True)
        shade = [[weight if weight else None]]
        drawing.arrow((x + CELL / 2, BASE + 5), (x + CELL / 2, BASE + 24))
        drawing.cells(x, BASE + 28, 1, 1, "a", weights=shade)
        share = f"{weight:.3f}".rstrip("0").rstrip(".")
        drawing.text(x + CELL / 2, BASE + 54, share, small=True)
    if threshold is not None:
        y = BASE - CELL * UNIT * (threshold - FLOOR)
        end = left + 2 * STEP + CELL + 8
        drawing.line((left - 8, y), (end, y), kind="a", dashed=True)
        label = "$\\tau$" if name == "sparsemax" else "$2\\tau$"
        drawing.text(end + 8, y, label, kind="a")
drawing.text(
    230,
    BASE + 76,
    "上面是得分，下面是权重 | scores above, weights below",
    small=True,
)
