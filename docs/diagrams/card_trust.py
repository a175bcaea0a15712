"""The card of Part V: a word is left out, and what changes for each token."""

from literate.drawing import CELL, Drawing


FALLS = [[0.9, 0.06, 0.06], [0.06, 0.9, 0.5], [0.06, 0.3, 0.95]]

drawing = Drawing(height=104, width=220)
for row in range(3):
    kind = "o" if row == 1 else "x"
    drawing.cells(20, 31 + CELL * row, 1, 4, kind)
drawing.arrow((82, 52), (112, 52))
drawing.cells(118, 31, 3, 3, "a", weights=FALLS)
drawing.arrow((164, 52), (190, 52))
drawing.text(201, 52, "?", large=True)
