"""A graph of six nodes, its mask, and how far a mark gets in each layer."""

import math

from literate.drawing import CELL, Drawing


PLACES = ((34, 62), (34, 168), (96, 115), (164, 115), (218, 62), (218, 168))
EDGES = ((0, 1), (0, 2), (1, 2), (2, 3), (3, 4), (3, 5))
SHOWN = 2
RADIUS = 13
mask = [[i == j for j in range(6)] for i in range(6)]
for i, j in EDGES:
    mask[i][j] = mask[j][i] = True

drawing = Drawing(height=212)
for i, j in EDGES:
    (x0, y0), (x1, y1) = PLACES[i], PLACES[j]
    far = math.dist(PLACES[i], PLACES[j])
    u, v = RADIUS * (x1 - x0) / far, RADIUS * (y1 - y0) / far
    kind = "k" if SHOWN in (i, j) else "x"
    drawing.line((x0 + u, y0 + v), (x1 - u, y1 - v), kind=kind)
for i, place in enumerate(PLACES):
    kind = "q" if i == SHOWN else "k" if mask[SHOWN][i] else ""
    drawing.circle(*place, RADIUS, f"{i}", kind=kind)
drawing.text(126, 18, "图 | graph")

left, top = 276, 73
drawing.text(left + 42, 18, "掩码 | mask")
drawing.text(left + 42, 37, "键 | keys", small=True, kind="k")
drawing.text(left - 6, 37, "查询 | query", small=True, kind="q", anchor="end")
for i in range(6):
    middle = CELL * (i + 0.5)
    drawing.text(left + middle, top - 10, f"{i}", small=True)
    drawing.text(
        left - 10,
        top + middle,
        f"{i}",
        small=True,
        kind="q" if i == SHOWN else "",
        bold=i == SHOWN,
    )
    n = sum(mask[i])
    row = [1.6 / n if seen else None for seen in mask[i]]
    drawing.cells(
        left, top + CELL * i, 1, 6, "a", weights=[row], pale=i != SHOWN
    )

reached = {0}
drawing.text(414, 18, "到达 | reached")
drawing.text(414, 37, "层数 | layers", small=True)
for layer in range(4):
    x = 380 + 20 * layer
    drawing.text(x + CELL / 2 - 2, top - 10, f"{layer}", small=True)
    weights = [[1.0 if i in reached else 0.0] for i in range(6)]
    drawing.cells(x - 2, top, 6, 1, "v", weights=weights)
    reached = {i for i in range(6) if any(mask[i][j] for j in reached)}
