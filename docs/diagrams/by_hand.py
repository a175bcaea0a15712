"""Self-attention by hand: three tokens, and what the first of them computes."""

from literate.drawing import CELL, Drawing


TOKENS = ("爱 | 爱 (love)", "学 | 学 (learn)", "习 | 习 (learn)")
X = [[1, 0, 1, 0], [0, 2, 0, 2], [1, 1, 1, 1]]
PROJECTED = {
    "q": [[1, 0, 2], [2, 2, 2], [2, 1, 3]],
    "k": [[0, 1, 1], [4, 4, 0], [2, 3, 1]],
    "v": [[1, 2, 3], [2, 8, 0], [2, 6, 3]],
}
CENTRES = {"q": 76, "k": 230, "v": 384}

drawing = Drawing(height=358)


def numbers(centre, y, matrix):
    rows, cols = len(matrix), len(matrix[0])
    area = drawing.cells(centre - CELL * cols / 2, y, rows, cols, "o")
    for i, row in enumerate(matrix):
        for j, number in enumerate(row):
            place = (area.x + CELL * (j + 0.5), y + CELL * (i + 0.5))
            drawing.text(*place, f"{number}", small=True)
    return area


tokens = numbers(230, 10, X)
for i, token in enumerate(TOKENS):
    y = tokens.y + CELL * (i + 0.5)
    drawing.text(tokens.x - 7, y, token, anchor="end", small=True)
drawing.text(tokens.right()[0] + 6, tokens.centre[1], "$X$", anchor="start")
projected = {}
for kind, centre in CENTRES.items():
    name = kind.upper()
    weight = drawing.box(centre - 26, 82, 52, 25, f"$W_{name}$", kind=kind)
    drawing.arrow(tokens.bottom(), weight.top())
    area = numbers(centre, 124, PROJECTED[kind])
    drawing.arrow(weight.bottom(), area.top())
    drawing.text(area.right()[0] + 10, area.centre[1], f"${name}$")
    projected[kind] = area

query = numbers(CENTRES["q"], 212, PROJECTED["q"][:1])
drawing.arrow(projected["q"].bottom(), query.top(), kind="q")
drawing.text(68, 238, "爱的查询 | the query of 爱", small=True)
scores = numbers(230, 212, [[2, 4, 4]])
drawing.arrow(query.right(), scores.left(), kind="q")
drawing.text(146, 207, "点积 | dot products", small=True)
drawing.arrow(projected["k"].bottom(), scores.top(), kind="k")
drawing.text(258, 219, "得分 | scores", anchor="start", small=True)
softmax = drawing.box(196, 243, 68, 25, "softmax")
drawing.arrow(scores.bottom(), softmax.top())
weights = drawing.cells(209, 290, 1, 3, "a", weights=[[0.063, 0.468, 0.468]])
drawing.arrow(softmax.bottom(), weights.top())
shares = "0.063, 0.468, 0.468"
drawing.text(
    weights.x - 8, weights.centre[1], shares, anchor="end", small=True
)
y = weights.centre[1]
times = drawing.circle(384, y, 9, "×")
drawing.arrow(weights.right(), times.left(), kind="a")
drawing.text(318, y - 9, "权重 | weights", small=True)
drawing.arrow(projected["v"].bottom(), times.top(), kind="v")
drawing.arrow(times.bottom(), (384, 332))
drawing.text(448, 343, "(1.94, 6.68, 1.60)", anchor="end", bold=True)
drawing.text(318, 343, "爱的输出 | the output of 爱", anchor="end")
