"""ALiBi: weights fade with distance, at a slope of each head's own."""

import math

from literate.drawing import CELL, Drawing


WORDS = (
    "汤姆 | Tom",
    "绕着 | chases",
    "房子 | Jerry",
    "追逐 | round",
    "杰瑞 | the",
    "。 | house",
)
N = len(WORDS)
SLOPES = {"1/2": 0.5, "1/16": 0.0625}
LEFTS = (68, 212, 344)
TOP = 36

drawing = Drawing(height=166)


def table(left, title, slope):
    """Weights of queries (rows) and keys (columns) whose scores are equal."""
    rows = []
    for i in range(N):
        shares = [math.exp(-slope * (i - j)) for j in range(i + 1)]
        weights = [round(share / sum(shares), 3) for share in shares]
        rows.append([*weights, *[None] * (N - i - 1)])
    cells = drawing.cells(left, TOP, N, N, "a", weights=rows)
    drawing.text(cells.centre[0], 17, title)
    return cells


for row, word in enumerate(WORDS):
    y = TOP + CELL * (row + 0.5)
    drawing.text(LEFTS[0] - 7, y, word, anchor="end", small=True)
distances = drawing.cells(
    LEFTS[0],
    TOP,
    N,
    N,
    "o",
    weights=[[1] * (i + 1) + [None] * (N - i - 1) for i in range(N)],
)
drawing.text(distances.centre[0], 17, "距离 $i - j$ | distance $i - j$")
for i in range(N):
    for j in range(i + 1):
        x = LEFTS[0] + CELL * (j + 0.5)
        y = TOP + CELL * (i + 0.5)
        drawing.text(x, y, f"{i - j}", small=True)
for left, (name, slope) in zip(LEFTS[1:], SLOPES.items(), strict=True):
    title = f"权重，$m = {name}$ | weights, $m = {name}$"
    table(left, title, slope)
y = distances.centre[1]
drawing.arrow(distances.right(), (LEFTS[1] - 7, y))
drawing.text(
    230,
    145,
    "得分减去 $m(i - j)$，再做 softmax | take $m(i - j)$ from the scores, then softmax",
    small=True,
)
