"""The card of Part III: four tokens, and which of them each may look at."""

from literate.drawing import CELL, Drawing


N = 4
CAUSAL = [
    [(0.35 + 0.6 * (j == i)) if j <= i else None for j in range(N)]
    for i in range(N)
]
drawing = Drawing(height=104, width=220)
tokens = drawing.cells(24, 45, 1, N, "x")
mask = drawing.cells(104, 24, N, N, "a", weights=CAUSAL)
drawing.arrow(tokens.right(), mask.left())
after = drawing.cells(188, 24 + (N - 1) * CELL, 1, 1, "q")
drawing.arrow(mask.right(0.875), after.left())
drawing.text(after.centre[0], after.y - 12, "?")
