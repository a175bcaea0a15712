"""The way from the first token to the last, in three architectures."""

from literate.drawing import CELL, Drawing


WORDS = (
    "汤姆 | Tom",
    "今天 | chases",
    "绕着 | Jerry",
    "房子 | round",
    "追逐 | the",
    "杰瑞 | house",
)
N = len(WORDS)
LEFT = 142
STEP = 56
ROW = 42

drawing = Drawing(height=398)


def row(y, path):
    """A row of cells, of which those on the path are filled."""
    for i in range(N):
        kind = "x" if i in path else "o"
        drawing.cells(LEFT + STEP * i - CELL / 2, y, 1, 1, kind)


def link(upper, i, lower, j, on_path):
    """Cell i of the row at `upper` is read by cell j of the row at `lower`."""
    start = LEFT + STEP * i, upper + CELL + 4
    end = LEFT + STEP * j, lower - 5
    drawing.line(start, end, dashed=not on_path)
    if on_path:
        drawing.dot(*end)


def title(y, name, length):
    drawing.text(8, y, name, anchor="start", bold=True)
    drawing.text(8, y + 17, length, anchor="start", small=True)


for i, word in enumerate(WORDS):
    drawing.text(LEFT + STEP * i, 14, word, small=True)

# Convolution: causal, of width 3, so that the last cell needs three layers.
path = (0, 1, 3, 5)
ys = [28 + ROW * layer for layer in range(4)]
title(82, "卷积 | convolution", "路径长 3 | path of 3")
for layer in (3, 2, 1):
    for j in range(max(0, 2 * layer - 1), N):
        for i in range(max(0, j - 2), j + 1):
            on_path = (i, j) == (path[layer - 1], path[layer])
            link(ys[layer - 1], i, ys[layer], j, on_path)
for y, i in zip(ys, path, strict=True):
    row(y, (i,))

# Recurrence: each state reads its token and the state before it.
top = 206
title(226, "循环 | recurrence", "路径长 5 | path of 5")
row(top, (0,))
row(top + ROW, range(N))
for i in range(N):
    link(top, i, top + ROW, i, i == 0)
    if i:
        y = top + ROW + CELL / 2
        x = LEFT + STEP * i
        drawing.arrow((x - STEP + CELL / 2 + 3, y), (x - CELL / 2 - 3, y))

# Self-attention: the last output reads every token.
top = 300
title(322, "自注意力 | self-attention", "路径长 1 | path of 1")
row(top, (0,))
row(top + 56, (N - 1,))
for i in range(N):
    link(top, i, top + 56, N - 1, i == 0)
drawing.text(
    282,
    388,
    "实线是从第一个词元到最后一个的路 | solid: the way from first token to last",
    small=True,
)
