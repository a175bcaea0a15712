"""A padded batch, and the same tokens packed without padding."""

from literate.drawing import CELL, Drawing


LENGTHS = (7, 2, 4)
drawing = Drawing(height=208)

drawing.text(128, 16, "填充的批量 | padded batch", bold=True)
for row, length in enumerate(LENGTHS):
    y = 38 + 18 * row
    drawing.cells(80, y, 1, length, "x", pale=row == 1)
    if length < max(LENGTHS):
        drawing.cells(80 + CELL * length, y, 1, max(LENGTHS) - length, "o")
    drawing.text(
        72,
        y + 7,
        f"句子 {row + 1} | sentence {row + 1}",
        anchor="end",
        small=True,
    )
drawing.text(128, 100, "空心格是填充 | empty cells: padding", small=True)

drawing.text(349, 16, "13 个词元 | 13 tokens", bold=True)
x = 252
for row, length in enumerate(LENGTHS):
    drawing.cells(x, 56, 1, length, "x", pale=row == 1)
    x += CELL * length

drawing.arrow((184, 57), (246, 57))
drawing.text(215, 47, "unpad", small=True)
drawing.arrow((246, 70), (184, 70))
drawing.text(215, 82, "pad", small=True)

attention = drawing.box(68, 152, 120, 30, "注意力 | attention")
drawing.arrow((128, 112), attention.top())
rest = drawing.box(262, 152, 174, 30, "逐个词元的层 | layers token by token")
drawing.arrow((349, 76), rest.top())
drawing.text(
    349,
    198,
    "线性层、归一化、前馈网络 | linear, normalisation, feed-forward",
    small=True,
)
drawing.text(
    128, 198, "要知道词元属于哪一句 | has to see the sentences", small=True
)
