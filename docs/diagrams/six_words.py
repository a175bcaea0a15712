"""Attention over six words: one query, dot products, softmax, weighted sum."""

from literate.drawing import CELL, Drawing, same


WORDS = ("Tom", "chases", "Jerry", "round", "the", "house")
KEYS = ("1000", "0100", "1010", "0010", "0010", "0011")
SCORES = ("3", "−1", "6", "3", "3", "2")
WEIGHTS = (0.043, 0.001, 0.856, 0.043, 0.043, 0.016)
VALUES = ("01", "00", "10", "00", "00", "00")
COLUMNS = [114 + 46 * i for i in range(6)]
MIDDLE = (COLUMNS[0] + COLUMNS[-1]) / 2
QUERY = 412  # where its column stands

drawing = Drawing(height=401)


def column(x, y, kind, numbers):
    weights = [[float(number)] for number in numbers]
    return drawing.cells(
        x - CELL / 2, y, len(weights), 1, kind, weights=weights
    )


def step(y, label):
    return drawing.box(92, y, COLUMNS[-1] + 22 - 92, 25, label)


def rows(y, *names):
    for i, name in enumerate(names):
        place = (84, y + CELL * (i + 0.5))
        drawing.text(*place, name, anchor="end", small=True)


rows(28, "名字 | name", "动作 | action", "动词后 | after verb", "地点 | place")
rows(266, "老鼠 | mouse", "猫 | cat")
rows(211, "权重 | weights")
rows(137, "得分 | scores")
score = step(106, "与查询的点积 | dot product with the query")
normalise = step(164, "softmax")
add = step(318, "加权求和 | weighted sum")

drawing.text(QUERY, 15, "查询 | query", small=True)
query = drawing.cells(QUERY - CELL / 2, 28, 4, 1, "q")
for i, number in enumerate(("3", "−1", "3", "−1")):
    place = (QUERY + 11, 28 + CELL * (i + 0.5))
    drawing.text(*place, number, anchor="start", small=True)
corner = (QUERY, score.right()[1])
drawing.arrow(query.bottom(), corner, score.right(), kind="q")

for i, x in enumerate(COLUMNS):
    drawing.text(x, 15, same(WORDS[i]), small=True)
    key = column(x, 28, "k", KEYS[i])
    drawing.arrow(key.bottom(), (x, score.top()[1]), kind="k")
    drawing.arrow((x, score.bottom()[1]), (x, normalise.top()[1]))
    drawing.text(x + 6, 144, SCORES[i], anchor="start", small=True)
    weight = column(x, 211, "a", [WEIGHTS[i]])
    drawing.arrow((x, normalise.bottom()[1]), weight.top(), kind="a")
    drawing.text(x, 235, f"{WEIGHTS[i]:.3f}", small=True)
    drawing.text(x, 252, "×", small=True)
    value = column(x, 266, "v", VALUES[i])
    drawing.arrow(value.bottom(), (x, add.top()[1]), kind="v")

output = column(MIDDLE, 365, "v", (0.856, 0.043))
drawing.arrow((MIDDLE, add.bottom()[1]), output.top(), kind="v")
for i, name in enumerate(("老鼠 0.856 | mouse 0.856", "猫 0.043 | cat 0.043")):
    place = (MIDDLE + 13, 365 + CELL * (i + 0.5))
    drawing.text(*place, name, anchor="start", small=True)
drawing.text(MIDDLE - 13, 379, "输出 | output", anchor="end")
