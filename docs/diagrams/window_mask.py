"""A window as a mask on all scores, and computed in blocks."""

from literate.drawing import CELL, Drawing


N = 6  # tokens
W = 2  # of them in a window, the query's own included

drawing = Drawing(height=178)


def weight(query, key):
    """Of a score within the window; None is computed and thrown away."""
    return 0.85 if 0 <= query - key < W and key >= 0 else None


def frame(left, top, title, scores, first_key):
    columns = N - first_key
    middle = left + CELL * columns / 2
    drawing.text(middle, 16, title, bold=True)
    drawing.text(middle, top - 27, "键 | keys", small=True, kind="k")
    drawing.text(
        left - 27,
        top + CELL * N / 2,
        "查询 | queries",
        small=True,
        kind="q",
        anchor="end",
    )
    for i in range(N):
        y = top + CELL * (i + 0.5)
        drawing.text(left - 12, y, f"{i}", small=True, kind="q")
        x = left + CELL * (i - first_key + 0.5)
        drawing.text(x, top - 10, f"{i}", small=True, kind="k")
    drawing.text(middle, top + CELL * N + 20, scores)


left, top = 92, 62
frame(left, top, "掩码 | a mask", "36 个得分 | 36 scores", 0)
table = [[weight(i, j) for j in range(N)] for i in range(N)]
drawing.cells(left, top, N, N, "a", weights=table)

left = 310
frame(left, top, "分块 | blocks", "24 个得分 | 24 scores", -W)
for start in range(0, N, W):
    keys = range(start - W, start + W)
    block = [[weight(start + i, j) for j in keys] for i in range(W)]
    drawing.cells(
        left + CELL * start, top + CELL * start, W, 2 * W, "a", weights=block
    )
