"""Mask-predict on one sentence, below the autoregressive chain."""

from itertools import pairwise

from literate.drawing import CELL, Drawing, same


SOURCE = ("Mary", "'s", "snake", "is", "heavy", ".")
RIGHT = ("玛丽", "的", "蛇", "很", "重", "。")
DRAFTS = [  # of a model of the chapter: masked or not, token, probability
    (
        "111111",
        ("玛丽", "的", "蛇", "蛇", "重", "。"),
        "1.00 .99 .49 .49 .76 .94",
    ),
    ("001111", RIGHT, "1.00 .99 .38 .62 .80 .52"),
    ("001001", RIGHT, "1.00 .99 .38 .62 .80 .98"),
]
COLUMNS = [136 + 58 * i for i in range(6)]

drawing = Drawing(height=312)


def small(x, y, label, anchor="middle"):
    drawing.text(x, y, label, anchor=anchor, small=True)


small(8, 14, "原文 | source", "start")
for x, word in zip(COLUMNS, SOURCE, strict=True):
    small(x, 14, same(word))
small(8, 46, "自回归 | autoregressive", "start")
for x, word in zip(COLUMNS, RIGHT, strict=True):
    drawing.text(x, 46, same(word))
for left, right in pairwise(COLUMNS):
    drawing.arrow((left + 18, 46), (right - 18, 46))
small(8, 62, "7 步 | 7 steps", "start")

for t, (masked, words, chances) in enumerate(DRAFTS):
    top = 86 + 76 * t
    small(8, top + 7, f"第 {t + 1} 次迭代 | iteration {t + 1}", "start")
    rows = zip(COLUMNS, masked, words, chances.split(), strict=True)
    for x, hidden, word, chance in rows:
        if hidden == "1":
            cell = drawing.cells(
                x - CELL / 2, top, 1, 1, "x", weights=[[None]]
            )
            drawing.arrow(cell.bottom(), (x, top + 30))
        else:
            drawing.cells(x - CELL / 2, top, 1, 1, "x")
        drawing.text(x, top + 40, same(word), bold=hidden == "1")
        small(x, top + 56, chance)
