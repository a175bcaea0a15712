"""Encoder-only, encoder–decoder, decoder-only: who may attend to whom."""

from literate.drawing import CELL, Drawing, same


N = 3  # tokens that are read, and as many that are written
GAP = 6  # between blocks that belong to different attention layers
FULL = [[0.7] * N for _ in range(N)]
LOWER = [[0.7 if j <= i else None for j in range(N)] for i in range(N)]
TOP = 84

drawing = Drawing(height=222)


def small(x, y, label, anchor="middle"):
    drawing.text(x, y, label, anchor=anchor, small=True)


def panel(middle, title, model, use):
    """What stands around a family's masks."""
    drawing.text(middle, 12, title, bold=True)
    small(middle, 32, model)
    small(middle, 208, use)


panel(
    76,
    "纯编码器 | encoder-only",
    same("BERT"),
    "分类、填空 | classify, fill gaps",
)
left = 76 - N * CELL
drawing.cells(left, TOP, 2 * N, 2 * N, "a", weights=[[0.7] * 6] * 6)
small(76, TOP - 12, "读 | read")
small(left - 6, TOP + N * CELL, "读 | read", "end")

panel(
    232,
    "编码器–解码器 | encoder–decoder",
    "Transformer 和 T5 | Transformer and T5",
    "读一段，写一段 | read one, write another",
)
left = 232 - N * CELL - GAP / 2
right = 232 + GAP / 2
low = TOP + N * CELL + GAP
drawing.cells(left, TOP, N, N, "a", weights=FULL)
drawing.cells(left, low, N, N, "a", weights=FULL)
drawing.cells(right, low, N, N, "a", weights=LOWER)
for x, label in ((left, "读 | read"), (right, "写 | write")):
    small(x + N * CELL / 2, TOP - 12, label)
for y, label in ((TOP, "读 | read"), (low, "写 | write")):
    small(left - 6, y + N * CELL / 2, label, "end")

panel(
    388,
    "纯解码器 | decoder-only",
    same("GPT"),
    "接着写 | continue",
)
left = 388 - N * CELL
causal = [[0.7 if j <= i else None for j in range(6)] for i in range(6)]
drawing.cells(left, TOP, 2 * N, 2 * N, "a", weights=causal)
small(388, TOP - 12, "读和写 | read and write")
small(left - 6, TOP + N * CELL, "读和写 | both", "end")
