"""An encoder layer: two sublayers, each with its residual connection."""

from literate.drawing import CELL, Drawing


MIDDLE = 206  # of the path from top to bottom
TOKENS = ("汤姆 | Tom", "追逐 | chases", "杰瑞 | Jerry")
WEIGHTS = [[0.2, 0.7, 0.1], [0.5, 0.1, 0.4], [0.1, 0.7, 0.2]]

drawing = Drawing(height=622)


def tokens(y, label):
    """Three tokens of width 8, with their names and the name of the whole."""
    cells = drawing.cells(MIDDLE - 56, y, 3, 8, "x")
    for row, token in enumerate(TOKENS):
        middle = y + CELL * (row + 0.5)
        drawing.text(cells.x - 7, middle, token, anchor="end", small=True)
    drawing.text(cells.x + 124, cells.centre[1], label, anchor="start")
    return cells


def sublayer(start, height, *lines):
    """A frame, and what goes around it: the residual connection."""
    frame = drawing.group(42, start.y + 70, 410, height)
    for i, line in enumerate(lines):
        y = frame.centre[1] - 8 * (len(lines) - 1) + 16 * i
        drawing.text(338, y, line, anchor="start", small=True)
    y = frame.y + height + 26
    plus = drawing.circle(MIDDLE, y, 10, "+")
    corner = (26, frame.y - 14)
    drawing.arrow((MIDDLE, corner[1]), corner, (26, y), plus.left())
    drawing.text(34, y - 11, "残差 | residual", anchor="start", small=True)
    norm = drawing.box(MIDDLE - 62, y + 30, 124, 25, "层归一化 | LayerNorm")
    drawing.arrow(plus.bottom(), norm.top())
    end = tokens(y + 72, "$Y$ 3 × 8" if start.y < 100 else "$Z$ 3 × 8")
    drawing.arrow(norm.bottom(), end.top())
    return frame, plus, end


x = tokens(8, "$X$ 3 × 8")
frame, plus, y = sublayer(
    x,
    72,
    "多头自注意力 | multi-head",
    "词元之间 | self-attention:",
    "求加权平均 | between tokens",
)
weights = drawing.cells(MIDDLE - 88, frame.y + 15, 3, 3, "a", weights=WEIGHTS)
values = drawing.cells(MIDDLE - 22, frame.y + 15, 3, 8, "v")
drawing.text(MIDDLE - 34, values.centre[1], "×")
drawing.arrow(x.bottom(), (MIDDLE, frame.y - 2))
drawing.arrow((MIDDLE, frame.y + frame.height), plus.top())

frame, plus, z = sublayer(
    y,
    160,
    "前馈网络 | feed-forward",
    "逐个词元 | network:",
    "单独计算 | each token alone",
)
up = drawing.box(MIDDLE - 26, frame.y + 10, 52, 25, "$W_1$")
drawing.arrow(y.bottom(), up.top())
hidden = drawing.cells(MIDDLE - 112, frame.y + 61, 3, 16, "x")
drawing.arrow(up.bottom(), hidden.top())
drawing.text(MIDDLE + 9, frame.y + 48, "ReLU", anchor="start", small=True)
drawing.text(
    hidden.x - 8, hidden.centre[1], "3 × 16", anchor="end", small=True
)
down = drawing.box(MIDDLE - 26, frame.y + 126, 52, 25, "$W_2$")
drawing.arrow(hidden.bottom(), down.top())
drawing.arrow(down.bottom(), plus.top())
