"""One head of today: three changes to scaled dot-product attention."""

from literate.drawing import Drawing, same


drawing = Drawing(height=186)
weights = [[0.1], [0.7], [0.05]]

query = drawing.cells(8, 34, 1, 3, "q")
keys = drawing.cells(8, 72, 3, 3, "k")
for side, y in ((query, 29), (keys, 81)):
    norm = drawing.box(60, y, 68, 24, same("RMSNorm"))
    drawing.arrow(side.right(), norm.left())
drawing.text(29, 20, "查询 | query", small=True)
drawing.text(29, 126, "键 | keys", small=True)

scores = drawing.cells(154, 72, 3, 1, "x", weights=weights)
sink = drawing.cells(154, 118, 1, 1, "o")
drawing.text(146, 125, "$z$", anchor="end")
drawing.arrow((131, 93), scores.left())
drawing.arrow((131, 41), (161, 41), scores.top())
drawing.text(161, 146, "得分 | scores", small=True)

shares = drawing.cells(222, 72, 3, 1, "a", weights=weights)
lost = drawing.cells(222, 118, 1, 1, "a", weights=[[0.15]], pale=True)
drawing.arrow(scores.right(), shares.left())
drawing.text(195, 60, same("softmax"), small=True)
drawing.text(229, 146, "权重 | weights", small=True)

drawing.text(250, 93, "×")
values = drawing.cells(262, 72, 3, 3, "v")
drawing.text(283, 126, "值 | values", small=True)
gate = drawing.box(322, 81, 64, 24, "× $\\sigma(W_g x)$")
drawing.arrow(values.right(), gate.left())
output = drawing.cells(402, 86, 1, 3, "v")
drawing.arrow(gate.right(), output.left())
drawing.text(423, 112, "输出 | output", small=True)

for x, label in (
    (94, "1 QK 归一化 | 1 QK-norm"),
    (195, "2 汇点 | 2 sink"),
    (354, "3 门 | 3 gate"),
):
    drawing.text(x, 174, label, bold=True)
