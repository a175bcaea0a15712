"""Which keys a query is compared with, in six patterns of eight tokens."""

from literate.drawing import CELL, Drawing


N = 8
SIDE = CELL * N
SELECTED = (None, None, 0, 0, 1, 0, 0, 2)  # the earlier block of each query
drawing = Drawing(height=2 * (SIDE + 58) + 34)


def selected(i, j):
    return i // 2 == j // 2 or SELECTED[i] == j // 2


PATTERNS = (
    ("全部 | full", lambda i, j: True),
    ("窗口 | window", lambda i, j: i - j < 3),
    ("空洞窗口 | dilated", lambda i, j: i - j < 6 and (i - j) % 2 == 0),
    (
        "窗口加全局 | window, global",
        lambda i, j: i - j < 2 or j == 3 or i == 3,
    ),
    ("窗口加汇点 | window, sinks", lambda i, j: i - j < 3 or j == 0),
    ("选出的块 | selected blocks", selected),
)
for number, (label, sees) in enumerate(PATTERNS):
    x = 26 + 150 * (number % 3)
    y = 50 + (SIDE + 58) * (number // 3)
    table = [
        [0.85 if j <= i and sees(i, j) else 0.07 for j in range(N)]
        for i in range(N)
    ]
    scores = sum(weight > 0.5 for row in table for weight in row)
    drawing.text(x + SIDE / 2, y - 14, label, bold=True)
    drawing.cells(x, y, N, N, "a", weights=table)
    count = f"{scores} 个得分 | {scores} scores"
    drawing.text(x + SIDE / 2, y + SIDE + 14, count, small=True)
drawing.text(
    230,
    14,
    "行是查询，列是键 | rows: queries, columns: keys",
    small=True,
)
