"""A Vision Transformer on one digit: patches, tokens, encoder, head."""

from literate.drawing import CELL, Drawing


SEVEN = [  # scikit-learn's eighth digit: ink from 0 to 16
    [0, 0, 7, 8, 13, 16, 15, 1],
    [0, 0, 7, 7, 4, 11, 12, 0],
    [0, 0, 0, 0, 8, 13, 1, 0],
    [0, 4, 8, 8, 15, 15, 6, 0],
    [0, 2, 11, 15, 15, 4, 0, 0],
    [0, 0, 0, 16, 5, 0, 0, 0],
    [0, 0, 9, 15, 1, 0, 0, 0],
    [0, 0, 13, 5, 0, 0, 0, 0],
]
D = 8  # width of the token vectors, as drawn
PROBABILITIES = [0.01, 0.01, 0.01, 0.02, 0.01, 0.01, 0.01, 0.9, 0.01, 0.01]


def shades(rows):
    return [[max(0.04, ink / 16) for ink in row] for row in rows]


patches = {
    (i, j): [row[2 * j : 2 * j + 2] for row in SEVEN[2 * i : 2 * i + 2]]
    for i in range(4)
    for j in range(4)
}
drawing = Drawing(height=598)

image = drawing.cells(40, 26, 8, 8, "x", weights=shades(SEVEN))
drawing.text(image.centre[0], 13, "图像 8 × 8 | image 8 × 8", small=True)
for (i, j), patch in patches.items():
    area = drawing.cells(
        236 + 36 * j, 14 + 36 * i, 2, 2, "x", weights=shades(patch)
    )
right = area.right()[0]
for k in range(5):  # where it is cut
    drawing.line((40 + 28 * k, 26), (40 + 28 * k, 138))
    drawing.line((40, 26 + 28 * k), (152, 26 + 28 * k))
drawing.arrow(image.right(), (232, image.centre[1]))
drawing.text(194, image.centre[1] - 12, "切开 | cut into", small=True)
drawing.text(194, image.centre[1] + 13, "16 块 | 16 patches", small=True)

top = 196
flat = [[*upper, *lower] for upper, lower in patches.values()]
rows = drawing.cells(30, top + CELL, 16, 4, "x", weights=shades(flat))
drawing.arrow((304, 153), (304, 168), (58, 168), rows.top())
drawing.text(192, 159, "每块一行，四个数 | a row of four for each", small=True)
matrix = drawing.box(107, rows.centre[1] - 13, 34, 26, "$E$")
drawing.arrow(rows.right(), matrix.left())
tokens = drawing.cells(164, top + CELL, 16, D, "x")
first = drawing.cells(164, top, 1, D, "o")
drawing.arrow(matrix.right(), (tokens.left()[0], matrix.centre[1]))
drawing.text(220, 186, "类别词元 | class token", small=True)
positions = drawing.cells(324, top, 17, D, "o")
drawing.circle(300, matrix.centre[1], 8, "+")
drawing.line((tokens.right()[0], matrix.centre[1]), (292, matrix.centre[1]))
drawing.line((308, matrix.centre[1]), (positions.left()[0], matrix.centre[1]))
drawing.text(380, 186, "位置 17 × 8 | positions 17 × 8", small=True)
for row in range(17):
    drawing.text(446, top + CELL * (row + 0.5), f"{row}", small=True)
below = rows.bottom()[1] + 8
drawing.text(58, below, "16 × 4", small=True)
drawing.text(220, below, "17 × 8", small=True)

encoder = drawing.box(220, 462, 160, 26, "编码器 × $L$ | encoder × $L$")
drawing.arrow((300, tokens.centre[1] + 12), encoder.top())
state = drawing.cells(300 - D * CELL / 2, 506, 1, D, "x")
drawing.arrow(encoder.bottom(), state.top())
drawing.text(
    236,
    state.centre[1],
    "第 0 行 1 × 8 | row 0, 1 × 8",
    anchor="end",
    small=True,
)
head = drawing.box(260, 538, 80, 25, "分类头 | head")
drawing.arrow(state.bottom(), head.top())
scores = drawing.cells(
    80, 543.5, 1, 10, "x", weights=[[0.04 + p for p in PROBABILITIES]]
)
drawing.arrow(head.left(), scores.right())
for digit in range(10):
    drawing.text(80 + CELL * (digit + 0.5), 567, f"{digit}", small=True)
drawing.text(
    150, 584, "十个类别的概率 | probabilities of ten classes", small=True
)
