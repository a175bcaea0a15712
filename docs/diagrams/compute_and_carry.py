"""A linear layer on six tokens: what is carried, and what is computed."""

from literate.drawing import Drawing


TOKENS, WIDTH = 6, 8
drawing = Drawing(height=322)

drawing.group(8, 8, 268, 306, "内存 | memory")
x = drawing.cells(144, 30, TOKENS, WIDTH, "x")
w = drawing.cells(144, 124, WIDTH, WIDTH, "a")
y = drawing.cells(144, 222, TOKENS, WIDTH, "v")
for cells, label, size in (
    (x, "输入 $X$ | input $X$", "6 × 8"),
    (w, "权重 $W$ | weights $W$", "8 × 8"),
    (y, "输出 $Y$ | output $Y$", "6 × 8"),
):
    middle = cells.y + cells.height / 2
    drawing.text(134, middle - 8, label, anchor="end")
    drawing.text(134, middle + 9, size, anchor="end", small=True)

unit = drawing.box(352, 140, 96, 56, "768 次运算 | 768 operations")
drawing.text(400, 128, "计算 | compute", small=True)
drawing.arrow((262, 72), (330, 72), (330, 154), (346, 154))
drawing.arrow((262, 168), (346, 168))
drawing.arrow((346, 182), (330, 182), (330, 264), (262, 264))
drawing.text(400, 226, "搬 640 字节 | 640 bytes", small=True)
drawing.text(400, 242, "来回共 160 个数 | 160 numbers", small=True)
drawing.text(400, 258, "强度 1.2 | intensity 1.2", small=True)
