"""A decoder layer: masked self-attention, cross-attention, feed-forward."""

from literate.drawing import CELL, Drawing


MIDDLE = 196  # of the path from top to bottom
TOKENS = ("<bos>", "一个 | 一个 a", "红色的 | 红色的 red", "苹果 | 苹果 apple")
CAUSAL = [
    [1, None, None, None],
    [0.5, 0.5, None, None],
    [0.2, 0.3, 0.5, None],
    [0.2, 0.1, 0.5, 0.2],
]
CROSS = [[0.7, 0.2, 0.1], [0.1, 0.7, 0.2], [0.1, 0.2, 0.7], [0.2, 0.2, 0.6]]

drawing = Drawing(height=694)


def tokens(y, label):
    """Four tokens of width 8, with their names and the name of the whole."""
    cells = drawing.cells(MIDDLE - 56, y, 4, 8, "x")
    for row, token in enumerate(TOKENS):
        middle = y + CELL * (row + 0.5)
        drawing.text(cells.x - 7, middle, token, anchor="end", small=True)
    drawing.text(cells.x + 120, cells.centre[1], label, anchor="start")
    return cells


def sublayer(y, height, *lines):
    """A frame, and what goes around it; the end of its normalisation."""
    frame = drawing.group(42, y + 28, 376, height)
    for i, line in enumerate(lines):
        middle = frame.centre[1] - 8 * (len(lines) - 1) + 16 * i
        drawing.text(322, middle, line, anchor="start", small=True)
    bottom = frame.y + height
    plus = drawing.circle(MIDDLE, bottom + 26, 10, "+")
    corner = (26, frame.y - 14)
    y = plus.centre[1]
    drawing.arrow((MIDDLE, corner[1]), corner, (26, y), plus.left())
    drawing.text(34, y - 11, "残差 | residual", anchor="start", small=True)
    drawing.arrow((MIDDLE, bottom), plus.top())
    norm = drawing.box(MIDDLE - 62, y + 30, 124, 25, "层归一化 | LayerNorm")
    drawing.arrow(plus.bottom(), norm.top())
    return frame, norm


x = tokens(8, "4 × 8")
memory = drawing.cells(340, 8, 3, 8, "x")
drawing.text(340, 64, "memory 3 × 8", anchor="start")
for row, token in enumerate(("a", "red", "apple")):
    drawing.text(333, 8 + CELL * (row + 0.5), token, anchor="end", small=True)

frame, norm = sublayer(
    64,
    86,
    "因果自注意力 | causal",
    "查询、键、值 | self-attention:",
    "都来自译文 | the target",
)
weights = drawing.cells(104, frame.y + 15, 4, 4, "a", weights=CAUSAL)
values = drawing.cells(192, frame.y + 15, 4, 8, "v")
drawing.text(176, values.centre[1], "×")
drawing.arrow(x.bottom(), (MIDDLE, frame.y - 2))

before = norm
frame, norm = sublayer(
    norm.y + 25,
    86,
    "交叉注意力 | cross-attention:",
    "键和值来自 | keys, values:",
    "原文 | the source",
)
drawing.arrow(before.bottom(), (MIDDLE, frame.y - 2))
weights = drawing.cells(111, frame.y + 15, 4, 3, "a", weights=CROSS)
values = drawing.cells(185, frame.y + 22, 3, 8, "v")
drawing.text(169, values.centre[1], "×")
drawing.arrow(
    (437, 55),
    (437, frame.centre[1]),
    (frame.x + frame.width + 2, frame.centre[1]),
)

before = norm
frame, norm = sublayer(
    norm.y + 25, 46, "前馈网络 | feed-forward", "逐个词元 | each token"
)
drawing.arrow(before.bottom(), (MIDDLE, frame.y - 2))
drawing.box(MIDDLE - 62, frame.y + 10, 124, 26, "FFN")
output = tokens(norm.y + 45, "4 × 8")
drawing.arrow(norm.bottom(), output.top())
