"""What layer and batch normalisation average over: a row, or a column."""

from literate.drawing import CELL, Drawing


ROWS = 3  # tokens of a sentence
FEATURES = 6
TOP = 62
LOWER = 128  # where the second sentence stands

drawing = Drawing(height=200)


def cells(x, y, filled):
    """A sentence; the cells at these rows and columns are averaged."""
    for row in range(ROWS):
        for column in range(FEATURES):
            kind = "x" if (row, column) in filled else "o"
            at = (x + CELL * column, y + CELL * row)
            drawing.cells(*at, 1, 1, kind)


drawing.text(8, TOP + 21, "句子 1 | sentence 1", anchor="start", small=True)
drawing.text(8, LOWER + 21, "句子 2 | sentence 2", anchor="start", small=True)
for x, title, formula, first, second in (
    (
        118,
        "层归一化、RMSNorm | LayerNorm, RMSNorm",
        "一个词元的所有特征 | all features of a token",
        {(1, j) for j in range(FEATURES)},
        set(),
    ),
    (
        322,
        "批归一化 | batch norm",
        "全批词元的一个特征 | a feature of all tokens",
        {(i, 2) for i in range(ROWS)},
        {(i, 2) for i in range(ROWS)},
    ),
):
    middle = x + CELL * FEATURES // 2
    drawing.text(middle, 18, title, bold=True)
    drawing.text(middle, 40, formula, small=True)
    cells(x, TOP, first)
    cells(x, LOWER, second)
    drawing.text(middle, 188, "特征 | features", small=True)
drawing.text(236, TOP + 21, "词元 | tokens", small=True)
