"""A convolution of width 3 as attention: a head for each neighbour."""

from literate.drawing import CELL, Drawing


N = 6  # tokens; with a zero at each end there are N + 2 keys
HEADS = (
    "左边一个 | left neighbour",
    "自己 | the token itself",
    "右边一个 | right neighbour",
)
LEFTS = (16, 174, 332)
TOP = 44

drawing = Drawing(height=222)
for head, (left, name) in enumerate(zip(LEFTS, HEADS, strict=True)):
    weights = [[float(j == i + head) for j in range(N + 2)] for i in range(N)]
    grid = drawing.cells(left, TOP, N, N + 2, "a", weights=weights)
    x = grid.centre[0]
    drawing.text(x, 15, f"头 {head + 1} | head {head + 1}", bold=True)
    drawing.text(x, 32, name, small=True)
    kernel = drawing.box(x - 34, 152, 68, 25, f"$\\times W_{{{head - 1}}}$")
    drawing.arrow(grid.bottom(), kernel.top())
    if head < 2:
        drawing.text((x + LEFTS[head + 1] + 4 * CELL) / 2, 164.5, "+")
drawing.text(
    230,
    199,
    "行是 6 个查询，列是 6 个键和两头的零 | rows: 6 queries; columns: 6 keys and a zero at each end",
    small=True,
)
