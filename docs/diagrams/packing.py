"""A padded batch, and the same tokens packed without padding."""

from literate.drawing import CELL, Drawing


LENGTHS = (6, 3, 5)
drawing = Drawing(height=236)

drawing.text(
    20,
    16,
    "填充的批量，3 × 6 | a padded batch, 3 × 6",
    anchor="start",
    bold=True,
)
for row, length in enumerate(LENGTHS):
    y = 32 + 18 * row
    drawing.cells(80, y, 1, length, "x", pale=row == 1)
    if length < 6:
        drawing.cells(80 + CELL * length, y, 1, 6 - length, "o")
    drawing.text(
        72,
        y + 7,
        f"句子 {row + 1} | sentence {row + 1}",
        anchor="end",
        small=True,
    )
drawing.text(
    184, 57, "空格是填充 | empty cells are padding", anchor="start", small=True
)
unpad = drawing.box(90, 104, 76, 25, "unpad")
drawing.arrow((128, 89), unpad.top())
pad = drawing.box(294, 104, 76, 25, "pad")
x = 80
for row, length in enumerate(LENGTHS):
    area = drawing.cells(x, 152, 1, length, "x", pale=row == 1)
    x += CELL * length
drawing.arrow(unpad.bottom(), (128, 149))
drawing.text(72, 159, "14 个词元 | 14 tokens", anchor="end", small=True)
drawing.arrow((260, 149), (260, 116), pad.left())
drawing.text(304, 84, "注意力 | attention")
drawing.arrow((332, 104), (332, 93))
drawing.text(
    230,
    192,
    "线性层、归一化、前馈网络在这里算，没有填充 | linear layers, norms and feed-forward",
    small=True,
)
drawing.text(
    230,
    208,
    "只有注意力要先还原成批量 | run here; attention alone wants the batch",
    small=True,
)
