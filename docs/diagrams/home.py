"""The picture of the home page: three words are translated, by attention.

Keys, queries and weights are those of the first example of the preface,
computed here from the same numbers, and as there the keys stand in for the
values. A band is as wide as its weight, so those that arrive at a query are
together as wide for each of them.
"""

import math

from literate.drawing import CELL, Drawing, same


ENGLISH = ("Tom", "chases", "Jerry")
CHINESE = ("汤姆", "追逐", "杰瑞")
KEYS = ((4, 1, 1), (1, 3, 1), (1, 1, 4))
QUERIES = ((1.5, 0, 0), (0.5, 2, 0.5), (0, 0, 1.5))
SOURCE = (50, 162, 274)  # the middles of the words
TARGET = (182, 294, 406)
TOP, BOTTOM = 80, 214  # where bands leave and arrive
BAND, GAP = 36, 2  # the width of a weight of 1, and between two bands
NOW = 2  # the word that is being written

drawing = Drawing(height=288)


def dot(a, b):
    return sum(x * y for x, y in zip(a, b, strict=True))


def softmax(scores):
    powers = [math.exp(score) for score in scores]
    return [power / sum(powers) for power in powers]


def side_by_side(middle, weights):
    """Where bands of these weights stand around a middle."""
    left = middle - BAND * sum(weights) / 2 - GAP
    for weight in weights:
        yield left + BAND * weight / 2
        left += BAND * weight + GAP


def vector(middle, y, kind, numbers, most, *, pale=False):
    left = middle - CELL * len(numbers) / 2
    shades = [[number / most for number in numbers]]
    drawing.cells(left, y, 1, 3, kind, pale=pale, weights=shades)


scores = [
    [dot(query, key) / math.sqrt(3) for key in KEYS] for query in QUERIES
]
weights = [softmax(one) for one in scores]
columns = list(zip(*weights, strict=True))
leave = [list(side_by_side(*one)) for one in zip(SOURCE, columns, strict=True)]
arrive = [
    list(side_by_side(*one)) for one in zip(TARGET, weights, strict=True)
]
for i in range(3):
    for j in range(3):
        ends = (leave[j][i], TOP), (arrive[i][j], BOTTOM)
        drawing.band(*ends, BAND * weights[i][j], pale=i != NOW)

for j, x in enumerate(SOURCE):
    drawing.text(x, 24, same(ENGLISH[j]), large=True)
    vector(x, TOP - 34, "k", KEYS[j], 4)
    vector(x, TOP - 18, "v", KEYS[j], 4)
    weight = f"{weights[NOW][j]:.2f}"
    drawing.text(x + 30, TOP + 9, weight, anchor="start", kind="a")
for i, x in enumerate(TARGET):
    pale = i != NOW
    average = [dot(weights[i], column) for column in zip(*KEYS, strict=True)]
    vector(x, BOTTOM + 4, "q", QUERIES[i], 2, pale=pale)
    vector(x, BOTTOM + 20, "v", average, 4, pale=pale)
    drawing.text(
        x,
        BOTTOM + 57,
        same(CHINESE[i]),
        large=True,
        bold=not pale,
        kind="" if pale else "q",
    )
cursor = TARGET[NOW] + 28
drawing.line((cursor, BOTTOM + 42), (cursor, BOTTOM + 65), kind="q")
drawing.text(SOURCE[2] + 30, TOP - 27, "键 | keys", anchor="start")
drawing.text(SOURCE[2] + 30, TOP - 11, "值 | values", anchor="start")
drawing.text(TARGET[0] - 30, BOTTOM + 11, "查询 | queries", anchor="end")
drawing.text(
    TARGET[0] - 30,
    BOTTOM + 27,
    "加权平均 | weighted averages",
    anchor="end",
)
