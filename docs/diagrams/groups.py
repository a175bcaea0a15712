"""Four groups: what is true, and what the shortcut says."""

from literate.drawing import CELL, Drawing


COLUMNS = ("职业甲 | occupation A", "职业乙 | occupation B")
ROWS = ("她 | she", "他 | he")
SIDE = 3  # cells to a row of a group
CROSSED = {(0, 1), (1, 0)}  # the shortcut is wrong there

drawing = Drawing(height=300)


def group(x, y, n, wrong):
    """n sentences, in rows of three; crossed out where the answer is wrong."""
    for i in range(n):
        row, column = divmod(i, SIDE)
        drawing.cells(
            x + CELL * column,
            y + CELL * row,
            1,
            1,
            "o" if wrong else "x",
            weights=[[None if wrong else 1]],
        )


def panel(left, title, counts, below):
    drawing.text(left + 93, 16, title, bold=True)
    for j, column in enumerate(COLUMNS):
        drawing.text(left + 43 + 100 * j, 42, column, small=True)
    for i in range(2):
        for j in range(2):
            x, y = left + 100 * j, 56 + 84 * i
            drawing.group(x, y, 86, 74)
            n = counts[i][j]
            rows = (n + SIDE - 1) // SIDE
            columns = min(n, SIDE)
            group(
                x + 43 - CELL * columns / 2,
                y + 37 - CELL * rows / 2,
                n,
                (i, j) in CROSSED,
            )
    for k, line in enumerate(below):
        drawing.text(left + 93, 244 + 20 * k, line, small=k > 0, bold=k == 0)


for i, row in enumerate(ROWS):
    drawing.text(36, 93 + 84 * i, row, anchor="end")
panel(
    48,
    "训练集 | training set",
    ((9, 1), (1, 9)),
    ("18 / 20", "只看职业，也对九成 | right by occupation alone"),
)
panel(
    260,
    "均衡的测试集 | balanced test set",
    ((5, 5), (5, 5)),
    ("10 / 20", "最差的两组全错 | two groups are all wrong"),
)
drawing.text(
    246,
    288,
    "打叉的，只看职业会答错 | crossed out: wrong by occupation alone",
    small=True,
)
