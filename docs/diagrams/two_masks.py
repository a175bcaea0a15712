"""A causal and a masked language model: one trunk, two masks, two targets."""

from literate.drawing import CELL, Drawing, same


TOKENS = ("the", "cat", "saw", "a", "red", "hat")
N = len(TOKENS)
BLANKS = (1, 4)
LOWER = [[1 if j <= i else None for j in range(N)] for i in range(N)]
FULL = [[1] * N for _ in range(N)]
STEP = 34

drawing = Drawing(height=398)


def small(x, y, label, anchor="middle"):
    drawing.text(x, y, label, anchor=anchor, small=True)


def panel(left, title, rule, weights, head, targets, blanks=()):
    """One model, from its tokens at the bottom to its targets on top."""
    columns = [left + STEP * (i + 0.5) for i in range(N)]
    middle = left + STEP * N / 2
    drawing.text(middle, 12, title, bold=True)
    small(middle, 32, rule)
    trunk = drawing.group(left, 136, STEP * N, 194)
    for x, target in zip(columns, targets, strict=True):
        if target:
            small(x, 58, same(target))
            drawing.arrow((x, 86), (x, 68))
            drawing.arrow((x, trunk.y - 2), (x, 117))
    drawing.box(left, 88, STEP * N, 26, head)
    small(
        middle, 152, "$L$ 个编码器层，掩码是 | $L$ encoder layers, with mask"
    )
    side = N * CELL
    cells = drawing.cells(middle - side / 2, 194, N, N, "a", weights=weights)
    small(middle, 184, "键 | keys")
    small(cells.x - 8, cells.centre[1], "查询 | queries", "end")
    small(middle, 314, "嵌入和位置 | embeddings, positions")
    for i, (x, token) in enumerate(zip(columns, TOKENS, strict=True)):
        weight = None if i in blanks else 1
        cell = drawing.cells(x - 7, 352, 1, 1, "x", weights=[[weight]])
        drawing.arrow(cell.top(), (x, trunk.y + trunk.height + 3))
        small(x, 382, "?" if i in blanks else same(token))


panel(
    4,
    "因果语言模型，GPT | causal, GPT",
    "预测下一个词元 | predicts next tokens",
    LOWER,
    "$E^⊤$",
    (*TOKENS[1:], "."),
)
panel(
    460 - 4 - STEP * N,
    "掩码语言模型，BERT | masked, BERT",
    "预测遮住的词元 | predicts masked tokens",
    FULL,
    "线性层、GELU、归一化、$E^⊤+b$ | linear, GELU, norm, $E^⊤+b$",
    [token if i in BLANKS else "" for i, token in enumerate(TOKENS)],
    BLANKS,
)
