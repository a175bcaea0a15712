"""Part VI: what each chapter does to one layer of attention in a model."""

from literate.drawing import CELL, Drawing, numbered


WEIGHTS = [[0.15, 0.9, 0.1], [0.8, 0.1, 0.15], [0.1, 0.15, 0.85]]
SPARSE = [[None, 0.9, None], [0.9, None, None], [None, 0.3, 0.7]]
WIDE = 214
HIGH = 158

drawing = Drawing(height=416)


def chapter(x, y, title, question, answer):
    """A frame with the title of a chapter; its question stands below."""
    frame = drawing.group(x, y, WIDE, HIGH, title)
    for i, line in enumerate((question, answer)):
        drawing.text(
            x + 10, y + 124 + 18 * i, line, anchor="start", small=True
        )
    return frame


model = drawing.box(
    90, 8, 280, 27, "训练好的模型 | a model that has been trained"
)

reading = chapter(
    8,
    66,
    numbered("看懂 | Reading", "interpret"),
    "它看了哪里，答案又靠哪里？ | Where does it look,",
    "去掉一个词再看 | what does it depend on?",
)
x, y = reading.x + 18, reading.y + 38
words = drawing.cells(x, y, 1, 5, "x")
drawing.cells(x, y + CELL, 1, 5, "o")
drawing.cells(x, y + 2 * CELL, 1, 5, "x")
weights = drawing.cells(x + 104, y, 3, 3, "a", weights=WEIGHTS)
drawing.arrow(
    (x + 5 * CELL + 4, weights.centre[1]), (x + 98, weights.centre[1])
)
drawing.text(x + 170, weights.centre[1], "$s$", large=True)
drawing.arrow(weights.right(), (x + 161, weights.centre[1]))

adaptive = chapter(
    238,
    66,
    numbered("自适应 | Adaptive", "adaptive"),
    "头要几个，看多远，多稀疏？ | How many heads, how far,",
    "让它自己学 | how sparse? It may learn.",
)
x, y = adaptive.x + 22, adaptive.y + 38
drawing.cells(x, y, 3, 3, "a", weights=SPARSE)
for head in range(4):
    drawing.cells(x + 62 + 30 * head, y, 3, 2, "o" if head in (1, 2) else "v")

robust = chapter(
    8,
    250,
    numbered("稳健与公平 | Robustness", "robust"),
    "换一种说法，换一群人， | With other words, for other",
    "还对吗？ | people, is it still right?",
)
x, y = robust.x + 24, robust.y + 92
drawing.line((x, y - 54), (x, y), (x + 160, y))
drawing.line(
    (x + 6, y - 48), (x + 50, y - 44), (x + 100, y - 26), (x + 154, y - 8)
)
drawing.line(
    (x + 6, y - 48),
    (x + 50, y - 47),
    (x + 100, y - 42),
    (x + 154, y - 34),
    kind="v",
)

myths = chapter(
    238,
    250,
    numbered("流言 | Myths", "myths"),
    "大家都这么说，是真的吗？ | Everyone says so.",
    "用代码检验 | Does the code agree?",
)
x, y = myths.x + 24, myths.y + 36
for row in range(3):
    drawing.cells(x, y + 20 * row, 1, 1, "o" if row == 1 else "a")
    drawing.line((x + 26, y + 7 + 20 * row), (x + 150, y + 7 + 20 * row))
    if row == 1:
        continue
    drawing.line(
        (x + 3, y + 3 + 20 * row), (x + 11, y + 11 + 20 * row), kind="q"
    )
for start, end in ((0.2, reading), (0.8, adaptive)):
    drawing.arrow(model.bottom(start), end.top(), bend=0.5)
drawing.arrow(reading.bottom(), robust.top())
drawing.arrow(adaptive.bottom(), myths.top())
drawing.arrow(reading.bottom(0.9), myths.top(0.1))
