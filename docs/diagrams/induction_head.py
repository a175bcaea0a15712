"""An induction head: layer 1 says what stands before, layer 2 looks for it."""

from literate.drawing import CELL, Drawing, same


COLUMNS = [150 + 84 * i for i in range(4)]
TOKENS = ("A", "B", "C", "A")
WEIGHTS = (0.02, 0.95, 0.02, 0.01)

drawing = Drawing(height=272)
drawing.text(8, 28, "词元 | tokens", anchor="start")
drawing.text(8, 66, "第一层 | layer 1", anchor="start", small=True)
drawing.text(8, 83, "看前一个 | one before", anchor="start", small=True)
drawing.text(8, 115, "第二层的键 | keys, layer 2", anchor="start", small=True)
drawing.text(8, 194, "值 | values", anchor="start", small=True)
for i, (x, token) in enumerate(zip(COLUMNS, TOKENS, strict=True)):
    drawing.text(x, 28, same(token), bold=True)
    before = TOKENS[i - 1]
    label = f"{before} 后面 | after {before}" if i else "开头 | start"
    drawing.box(x - 33, 102, 66, 25, label, kind="k")
    if i:
        left = COLUMNS[i - 1]
        drawing.arrow(
            (left + 12, 36), (left + 12, 66), (x - 12, 66), (x - 12, 98)
        )
    drawing.cells(x - CELL / 2, 145, 1, 1, "a", weights=[[WEIGHTS[i]]])
    drawing.box(x - 17, 182, 34, 25, same(token), kind="v")

drawing.box(8, 140, 96, 25, "查询 A | query A", kind="q")
drawing.text(COLUMNS[1] + 12, 152, same("0.95"), anchor="start", small=True)
drawing.arrow((COLUMNS[1], 210), (COLUMNS[1], 240))
drawing.text(COLUMNS[1], 256, "接着写 B | next comes B")
