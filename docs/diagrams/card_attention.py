"""The card of Part I: the bands are what a query takes of each value."""

from literate.drawing import CELL, Drawing


WEIGHTS = (0.036, 0.195, 0.392, 0.290, 0.079, 0.008)  # of the first chapter
COLUMNS = (30, 62, 94, 126, 158, 190)
MIDDLE = 110
BAND = 40  # the width of a weight of 1
TOP, BOTTOM = 26, 80

drawing = Drawing(height=104, width=220)

left = MIDDLE - BAND / 2
for x, weight in zip(COLUMNS, WEIGHTS, strict=True):
    width = BAND * weight
    drawing.cells(x - CELL / 2, TOP - 18, 1, 1, "v")
    drawing.band((x, TOP), (left + width / 2, BOTTOM), width)
    left += width
drawing.cells(MIDDLE - 1.5 * CELL, BOTTOM + 4, 1, 3, "q")
drawing.text(MIDDLE + 27, BOTTOM + 11, "$q$", anchor="start")
