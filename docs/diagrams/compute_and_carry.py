"""A linear layer on six tokens: what is carried, and what is computed."""

from literate.drawing import Drawing


TOKENS, WIDTH = 6, 8
drawing = Drawing(height=348)

drawing.group(8, 8, 268, 332, "内存 | memory")
x = drawing.cells(144, 30, TOKENS, WIDTH, "x")
w = drawing.cells(144, 126, WIDTH, WIDTH, "x", pale=True)
y = drawing.cells(144, 250, TOKENS, WIDTH, "x")
for cells, label, size in (
    (x, "输入 $X$ | input $X$", "6 × 8"),
    (w, "权重 $W$ | weights $W$", "8 × 8"),
    (y, "输出 $Y$ | output $Y$", "6 × 8"),
):
    middle = cells.y + cells.height / 2
    drawing.text(134, middle - 8, label, anchor="end")
    drawing.text(134, middle + 9, size, anchor="end", small=True)

unit = drawing.box(348, 142, 108, 56, "768 次运算 | 768 operations")
drawing.text(402, 130, "计算 | compute", small=True)
drawing.arrow((262, 72), (330, 72), (330, 156), (342, 156))
drawing.arrow((262, 170), (342, 170))
drawing.arrow((342, 184), (330, 184), (330, 292), (262, 292))
drawing.text(402, 228, "搬 640 字节 | 640 bytes", small=True)
drawing.text(402, 244, "来回共 160 个数 | 160 numbers", small=True)
drawing.text(402, 260, "强度 1.2 | intensity 1.2", small=True)
