"""The three steps of attention, on six points: score, normalise, sum."""

from literate.drawing import CELL, Drawing


VALUES = ("0.1", "0.9", "0.8", "0.2", "−0.7", "−1.0")
WEIGHTS = (0.036, 0.195, 0.392, 0.290, 0.079, 0.008)
COLUMNS = [112 + 56 * i for i in range(6)]
MIDDLE = (COLUMNS[0] + COLUMNS[-1]) / 2

drawing = Drawing(height=328)


def column(x, y, kind, weight=1.0):
    return drawing.cells(x - CELL / 2, y, 1, 1, kind, weights=[[weight]])


def step(y, label):
    left = COLUMNS[0] - 20
    return drawing.box(left, y, COLUMNS[-1] + 20 - left, 25, label)


for y, name in (
    (10, "键 | keys"),
    (150, "权重 | weights"),
    (214, "值 | values"),
):
    drawing.text(78, y + 7, name, anchor="end")

score = step(56, "打分 $s(q, k_i)$ | score $s(q, k_i)$")
normalise = step(99, "归一化 softmax | normalise: softmax")
add = step(262, "加权求和 | weighted sum")
query = column(71, 56 + 5.5, "q")
drawing.text(60, 68.5, "2.2", anchor="end", small=True)
drawing.text(64, 48, "查询 | query", small=True)
drawing.arrow(query.right(), (score.left()[0], query.right()[1]))
for i, x in enumerate(COLUMNS):
    key = column(x, 10, "k")
    drawing.text(x + 12, 17, f"{i}", anchor="start", small=True)
    drawing.arrow(key.bottom(), (x, score.top()[1]))
    drawing.arrow((x, score.bottom()[1]), (x, normalise.top()[1]))
    weight = column(x, 150, "a", 0.05 + 2.4 * WEIGHTS[i])
    drawing.arrow((x, normalise.bottom()[1]), weight.top())
    drawing.text(x, 174, f"{WEIGHTS[i]:.3f}", small=True)
    drawing.text(x, 195, "×", small=True)
    value = column(x, 214, "v")
    drawing.text(x + 10, 221, VALUES[i], anchor="start", small=True)
    drawing.arrow(value.bottom(), (x, add.top()[1]))
output = column(MIDDLE, 306, "v")
drawing.arrow((MIDDLE, add.bottom()[1]), output.top())
drawing.text(MIDDLE + 14, 313, "输出 0.487 | output 0.487", anchor="start")
