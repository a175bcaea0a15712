"""The card of Part IV: keys and values are kept, and each step adds a row."""

from literate.drawing import CELL, Drawing


STEPS = 5

drawing = Drawing(height=104, width=220)

for step in range(STEPS):
    x = 16 + 40 * step
    y = 74 - CELL * step
    for kind, left in (("k", x), ("v", x + CELL)):
        drawing.cells(left, y, 1, 1, kind)
        if step:
            drawing.cells(left, y + CELL, step, 1, kind, pale=True)
drawing.text(23, 62, "$K$")
drawing.text(38, 62, "$V$")
