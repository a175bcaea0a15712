"""The card of Part III: an image in patches, and what one of them looks at.

The weights are attention without parameters: softmax of the dot products of
the red patch with each patch, over the square root of their width. The
largest is drawn in full colour.
"""

import math

from literate.drawing import CELL, Drawing


SEVEN = ("######", "######", "....##", "...##.", "..##..", "..##..")
QUERY = (0, 2)
STEP = 2 * CELL + 3  # from one patch to the next

drawing = Drawing(height=104, width=220)


def patch(i, j):
    rows = SEVEN[2 * i : 2 * i + 2]
    return [
        [int(ink == "#") for ink in row[2 * j : 2 * j + 2]] for row in rows
    ]


def score(i, j):
    rows = zip(patch(*QUERY), patch(i, j), strict=True)
    pairs = [pair for row in rows for pair in zip(*row, strict=True)]
    return sum(query * key for query, key in pairs) / math.sqrt(len(pairs))


for i in range(3):
    for j in range(3):
        kind = "q" if (i, j) == QUERY else "x"
        shades = [[ink or 0.06 for ink in row] for row in patch(i, j)]
        drawing.cells(28 + STEP * j, 7 + STEP * i, 2, 2, kind, weights=shades)
        weight = math.exp(score(i, j) - score(*QUERY))
        x, y = 146 + (CELL + 2) * j, 44 + (CELL + 2) * i
        drawing.cells(x, y, 1, 1, "a", weights=[[round(weight, 2)]])
drawing.arrow((122, 21), (169, 21), (169, 41), kind="q")
drawing.text(179, 20, "$q$")
