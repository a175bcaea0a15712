"""Scaled dot-product attention: score, mask, softmax, weighted sum."""

from literate.drawing import CELL, Drawing


N = 4  # tokens
SCORES = [
    [0.5, 0.2, 0.6, 0.3],
    [0.7, 0.3, 0.2, 0.5],
    [0.3, 0.8, 0.4, 0.2],
    [0.6, 0.2, 0.5, 0.4],
]
WEIGHTS = [
    [1.0],
    [0.65, 0.35],
    [0.2, 0.6, 0.2],
    [0.4, 0.12, 0.3, 0.18],
]
CHAIN = 148  # the middle of what follows from top to bottom
RIGHT = 384

drawing = Drawing(height=470)


def causal(rows):
    return [
        [*row[: i + 1], *[None] * (N - 1 - i)] for i, row in enumerate(rows)
    ]


def square(x, y, kind, weights):
    return drawing.cells(x - CELL * N / 2, y, N, N, kind, weights=weights)


def operation(y, label, above):
    box = drawing.box(CHAIN - 62, y, 124, 25, label)
    drawing.arrow(above.bottom(), box.top())
    return box


query = drawing.cells(CHAIN - 75, 10, N, 3, "q")
key = drawing.cells(CHAIN + 33, 10, N, 3, "k")
value = drawing.cells(RIGHT - 21, 10, N, 3, "v")
for area, name in ((query, "$Q$"), (key, "$K$"), (value, "$V$")):
    drawing.text(area.right()[0] + 11, area.centre[1], name)
box = drawing.box(CHAIN - 62, 90, 124, 25, "$QK^\\top / \\sqrt d_k$")
drawing.arrow(query.bottom(), (query.centre[0], box.top()[1]), kind="q")
drawing.arrow(key.bottom(), (key.centre[0], box.top()[1]), kind="k")

scores = square(CHAIN, 130, "x", SCORES)
drawing.arrow(box.bottom(), scores.top())
box = operation(202, "掩码 | mask", scores)
mask = square(RIGHT - 102, 186, "x", causal([[1.0] * N] * N))
drawing.arrow(mask.left(), (box.right()[0], mask.left()[1]))
masked = square(CHAIN, 242, "x", causal(SCORES))
drawing.arrow(box.bottom(), masked.top())
box = operation(314, "softmax", masked)
weights = square(CHAIN, 354, "a", causal(WEIGHTS))
drawing.arrow(box.bottom(), weights.top())
for area, name in (
    (scores, "得分 | scores"),
    (masked, "挡住未来 | future masked"),
    (weights, "权重 | weights"),
):
    drawing.text(area.x - 8, area.centre[1], name, anchor="end", small=True)

times = drawing.circle(RIGHT, weights.centre[1], 10, "×")
drawing.arrow(weights.right(), times.left(), kind="a")
drawing.arrow(value.bottom(), times.top(), kind="v")
output = drawing.cells(RIGHT - 21, 408, N, 3, "v")
drawing.arrow(times.bottom(), output.top())
name = "输出 | output"
drawing.text(output.x - 8, output.centre[1], name, anchor="end")
