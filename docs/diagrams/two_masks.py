"""Two language models on the same tokens: one trunk, two masks, two targets."""

from literate.drawing import CELL, Drawing, same


TOKENS = ("<bos>", "the", "value", "of", "the", "name")
N = len(TOKENS)
BLANKS = (2, 4)
CAUSAL = [[1 if j <= i else None for j in range(N)] for i in range(N)]
FULL = [[1] * N for _ in range(N)]
STEP = 36

drawing = Drawing(height=408)


def small(x, y, label, anchor="middle"):
    drawing.text(x, y, label, anchor=anchor, small=True)


def panel(left, title, inputs, weights, head, targets):
    """One model, from its input at the bottom to its targets on top."""
    columns = [left + 16 + STEP * i for i in range(N)]
    middle = (columns[0] + columns[-1]) / 2
    drawing.text(middle, 14, title, bold=True)
    for x, target in zip(columns, targets, strict=True):
        if target:
            small(x, 44, same(target))
            drawing.arrow((x, 74), (x, 55))
    box = drawing.box(left, 76, STEP * N - 4, 26, head, kind="")
    drawing.arrow((middle, 126), box.bottom())
    drawing.group(left, 128, STEP * N - 4, 200)
    small(middle, 143, "同一个主干 | the same trunk")
    cells = drawing.cells(
        middle - N * CELL / 2, 182, N, N, "a", weights=weights
    )
    small(middle, 172, "掩码 | mask")
    small(cells.x - 6, cells.centre[1], "查询 | query", "end")
    small(middle, cells.y + cells.height + 12, "键 | key")
    small(middle, 312, "编码器层 × $L$ | encoder layers × $L$")
    for i, (x, token) in enumerate(zip(columns, inputs, strict=True)):
        drawing.arrow((x, 358), (x, 331))
        small(x, 370, same(token))
    return columns


left = panel(
    2,
    "GPT",
    TOKENS,
    CAUSAL,
    "词元的表 $E^⊤$ | table of tokens $E^⊤$",
    (*TOKENS[1:], "is"),
)
