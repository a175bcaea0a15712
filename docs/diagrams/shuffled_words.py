"""Self-attention without positions: shuffle what goes in, and only that."""

import math

from literate.drawing import CELL, Drawing


WORDS = ("汤姆 | Tom", "追逐 | chases", "杰瑞 | Jerry")
X = ((0.98, 0.1, 0.1, 0.5), (0.05, 0.98, 0.4, 0.1), (0.3, 0.1, 0.9, 0.9))
ORDERS = ((0, 1, 2), (2, 1, 0))

drawing = Drawing(height=148)


def attention(x):
    """Weights and outputs, with scores that are products of the vectors."""
    weights, outputs = [], []
    for q in x:
        row = [math.exp(4 * sum(map(float.__mul__, q, k))) for k in x]
        row = [weight / sum(row) for weight in row]
        weights.append([round(weight, 3) for weight in row])
        columns = zip(*x, strict=True)
        outputs.append(
            [round(sum(map(float.__mul__, row, c)), 3) for c in columns]
        )
    return weights, outputs


for column, title in (
    (106, "输入 | input"),
    (230, "权重 | weights"),
    (354, "输出 | output"),
):
    drawing.text(column, 14, title)
for top, order in zip((30, 98), ORDERS, strict=True):
    x = [X[i] for i in order]
    weights, outputs = attention(x)
    tokens = drawing.cells(78, top, 3, 4, "x", weights=x)
    table = drawing.cells(209, top, 3, 3, "a", weights=weights)
    result = drawing.cells(326, top, 3, 4, "x", weights=outputs)
    drawing.arrow(tokens.right(), table.left())
    drawing.arrow(table.right(), result.left())
    for row, i in enumerate(order):
        y = top + CELL * (row + 0.5)
        drawing.text(71, y, WORDS[i], anchor="end", small=True)
        drawing.text(390, y, WORDS[i], anchor="start", small=True)
