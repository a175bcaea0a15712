"""Attention step by step, and in a fused kernel that takes blocks of keys."""

from literate.drawing import CELL, Drawing


N = 4  # tokens
BLOCK = 2  # keys at a time

drawing = Drawing(height=336)


def inputs(left, name):
    drawing.text(left + 91, 16, name, bold=True)
    areas = []
    for step, kind in zip((0, 70, 140), "qkv", strict=True):
        area = drawing.cells(left + step, 36, N, 3, kind)
        letter = f"${kind.upper()}$"
        drawing.text(area.right()[0] + 10, area.y + 9, letter)
        areas.append(area)
    return areas


def small(x, y, label, anchor="middle"):
    drawing.text(x, y, label, anchor=anchor, small=True)


query, key, value = inputs(15, "逐步计算 | step by step")
scores = drawing.cells(43, 130, N, N, "x")
weights = drawing.cells(43, 210, N, N, "a")
output = drawing.cells(155, 272, N, 3, "v")
drawing.arrow(query.bottom(), scores.top(0.3), kind="q", bend=0.6)
drawing.arrow(key.bottom(), scores.top(0.7), kind="k", bend=0.3)
drawing.arrow(scores.bottom(), weights.top())
times = drawing.circle(176, weights.centre[1], 9, "×")
drawing.arrow(weights.right(), times.left(), kind="a")
drawing.arrow(value.bottom(), times.top(), kind="v")
drawing.arrow(times.bottom(), output.top())
small(107, scores.centre[1], "得分 | scores", "start")
small(71, 280, "权重 | weights")

query, key, value = inputs(250, "融合的内核 | fused kernel")
kernel = drawing.group(243, 112, 202, 138)
for area in (key, value):
    y = area.y + CELL * BLOCK
    drawing.line((area.x - 4, y), (area.x + 46, y), dashed=True)
part = drawing.cells(276, 136, N, BLOCK, "x")
share = drawing.cells(342, 136, N, BLOCK, "a")
drawing.arrow(query.bottom(), part.top(), kind="q", bend=0.3)
drawing.arrow(key.bottom(), part.top(0.9), kind="k", bend=0.6)
drawing.arrow(part.right(), share.left())
times = drawing.circle(411, share.centre[1], 9, "×")
drawing.arrow(share.right(), times.left(), kind="a")
drawing.arrow(value.bottom(), times.top(), kind="v")
small(344, 206, "两个键一块，用完就扔 | two keys at a time")
small(344, 222, "修正分母和输出 | correct denominator")
small(344, 238, "再取下一块 | and output, take the next")
output = drawing.cells(390, 272, N, 3, "v")
drawing.arrow((411, kernel.bottom()[1]), output.top())
for x in (148, 383):
    small(x, 300, "输出 | output", "end")
