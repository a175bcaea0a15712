"""What a reading of the weights gives: one token, or more."""

from literate.drawing import CELL, Drawing


drawing = Drawing(height=272)


def panel(left, top, name):
    drawing.group(left, top, 218, 120)
    drawing.text(left + 109, top + 16, name, bold=True)


def tokens(x, y, n, down=False):
    rows, cols = (n, 1) if down else (1, n)
    return drawing.cells(x - CELL * cols / 2, y, rows, cols, "v")


panel(6, 8, "一步一步 | one by one")
panel(236, 8, "int8 | int8")
for step in range(3):
    x = 46 + 69 * step
    block = drawing.cells(x - 28, 40, 3, 4, "x")
    drawing.arrow(block.bottom(), tokens(x, 106, 1).top())
    x = 276 + 69 * step
    block = drawing.cells(x - 7, 40, 3, 1, "x")
    drawing.arrow(block.bottom(), tokens(x, 106, 1).top())

panel(6, 140, "推测解码 | speculative decoding")
for step in range(3):
    drawing.cells(24 + 28 * step, 172, 3, 1, "q")
block = drawing.cells(132, 172, 3, 4, "x")
drawing.arrow((98, 193), block.left())
drawing.arrow(block.bottom(), tokens(160, 238, 3).top())
drawing.text(59, 232, "草稿 | draft", small=True)

panel(236, 140, "多放几句 | more sentences")
block = drawing.cells(276, 180, 3, 4, "x")
drawing.arrow(block.right(), tokens(394, 173, 4, down=True).left())
