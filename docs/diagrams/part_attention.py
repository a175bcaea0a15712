"""The path of Part I: six ideas, each with the chapters that explain it."""

import math

from literate.drawing import Area, Drawing, numbered


WIDE = 214
HIGH = 136
CALM = [0.1, 0.75, 0.15]
NAMED = [[0.85, 0.1, 0.05], [0.1, 0.1, 0.8], [0.05, 0.85, 0.1]]
LOCAL = [[0.1, 0.85, 0.05], [0.85, 0.1, 0.05], [0.05, 0.85, 0.1]]
TOKENS = ("汤姆 | Tom", "追逐 | chases", "杰瑞 | Jerry")
drawing = Drawing(height=3 * HIGH + 56)


def panel(number: int, label: str) -> Area:
    """The frame of an idea, in two columns."""
    x = 6 + 234 * (number % 2)
    y = 4 + (HIGH + 22) * (number // 2)
    return drawing.group(x, y, WIDE, HIGH, label)


def below(area: Area, label: str) -> None:
    x, y = area.bottom()
    drawing.text(x, y + 10, label, small=True)


def tokens(x: float, y: float) -> None:
    """Three tokens that are read, above, and three that are generated."""
    for i in range(3):
        drawing.dot(x + 32 * i, y, "k", 5)
        drawing.dot(x + 32 * i, y + 56, "q", 5)


def clock(x: float, y: float, turn: float) -> None:
    """A ring whose hand has made this part of a turn."""
    drawing.circle(x, y, 12)
    angle = 2 * math.pi * turn
    end = (x + 9 * math.sin(angle), y - 9 * math.cos(angle))
    drawing.line((x, y), end, kind="q")


one = panel(0, numbered("加权平均 | Weighted average", "pooling"))
x, y = one.x + 26, one.y + 48
weights = drawing.cells(x, y, 3, 1, "a", weights=[[w] for w in CALM])
drawing.text(x + 28, y + 21, "×")
values = drawing.cells(x + 42, y, 3, 4, "v")
average = drawing.cells(x + 126, y + 14, 1, 4, "v")
drawing.arrow(values.right(), average.left())
below(weights, "权重 | weights")
below(values, "值 | values")
drawing.text(average.centre[0], y + 55, "平均 | average", small=True)

two = panel(
    1,
    numbered(
        "打分、softmax、求和 | Score, softmax, sum",
        "scoring",
        "by-hand",
        "scoring-today",
    ),
)
x, y = two.x + 12, two.y + 30
query = drawing.cells(x, y, 1, 3, "q")
keys = drawing.cells(x, y + 24, 3, 3, "k")
scores = drawing.cells(x + 66, y + 24, 3, 1, "x", weights=[[w] for w in CALM])
weights = drawing.cells(
    x + 114, y + 24, 3, 1, "a", weights=[[w] for w in CALM]
)
drawing.arrow(keys.right(), scores.left())
drawing.arrow(scores.right(), weights.left())
drawing.text(x + 139, y + 45, "×")
values = drawing.cells(x + 150, y + 24, 3, 3, "v")
total = drawing.cells(x + 150, y + 84, 1, 3, "v")
drawing.arrow(values.bottom(), total.top())
below(scores, "得分 | scores")
below(weights, "权重 | weights")
below(keys, "键 | keys")
drawing.arrow(query.right(), (x + 73, y + 7), scores.top())
drawing.text(x + 82, y + 7, "查询 | query", anchor="start", small=True)

three = panel(
    2,
    numbered(
        "一个上下文向量，还是每词一个 | One context, or one per word",
        "recurrent",
    ),
)
x, y = three.x + 22, three.y + 42
for i in (-1, 0, 1):
    drawing.line((x + 32 + 32 * i, y), (x + 32 + 10 * i, y + 18 - i * i))
    drawing.line((x + 32 + 10 * i, y + 38 + i * i), (x + 32 + 32 * i, y + 56))
drawing.circle(x + 32, y + 28, 10, "$C$")
tokens(x, y)
drawing.text(x + 32, y + 78, "固定 | fixed", small=True)
drawing.arrow((x + 75, y + 28), (x + 95, y + 28))
for target, row in enumerate(NAMED):
    for source, weight in enumerate(row):
        ends = (x + 106 + 32 * source, y), (x + 106 + 32 * target, y + 56)
        drawing.line(*ends, kind="a", dashed=weight < 0.5)
tokens(x + 106, y)
drawing.text(x + 138, y + 78, "每词一个 | one per word", small=True)

four = panel(3, numbered("多头注意力 | Multi-head attention", "multi-head"))
x, y = four.x + 12, four.y + 32
first = drawing.cells(x, y, 3, 3, "a", weights=NAMED)
second = drawing.cells(x, y + 50, 3, 3, "a", weights=LOCAL, pale=True)
joined = drawing.cells(x + 76, y + 25, 3, 8, "v", pale_from=4)
drawing.arrow(
    first.right(), (x + 58, y + 21), (x + 58, y + 39), (x + 73, y + 39)
)
drawing.arrow(
    second.right(), (x + 58, y + 71), (x + 58, y + 53), (x + 73, y + 53)
)
below(joined, "两个头，拼接 | two heads, joined")

five = panel(4, numbered("位置编码 | Positional encoding", "positions"))
x, y = five.x + 62, five.y + 44
for i, token in enumerate(TOKENS):
    clock(x + 54 * i, y, 0.32 * i)
    clock(x + 54 * i, y + 34, 0.06 * i)
    drawing.text(x + 54 * i, y + 64, token, small=True)
drawing.text(x - 22, y, "快 | fast", anchor="end", small=True)
drawing.text(x - 22, y + 34, "慢 | slow", anchor="end", small=True)

six = panel(5, numbered("与卷积比较 | Against convolution", "convolution"))
x, y = six.x + 22, six.y + 32
free = [
    [round(((3 * i + 5 * j) % 7 + 1) / 8, 2) for j in range(5)]
    for i in range(5)
]
band = [
    [{0: 0.9, 1: 0.45}.get(abs(i - j), 0) for j in range(5)] for i in range(5)
]
attention = drawing.cells(x, y, 5, 5, "a", weights=free)
convolution = drawing.cells(x + 100, y, 5, 5, "a", weights=band)
below(attention, "注意力 | attention")
below(convolution, "卷积 | convolution")

for left, right in ((one, two), (three, four), (five, six)):
    drawing.arrow(left.right(), right.left())
for right, left in ((two, three), (four, five)):
    drawing.arrow(right.bottom(), left.top())
