"""A beam of two hypotheses, over two steps."""

from literate.drawing import Drawing


drawing = Drawing(height=196)


def small(x, y, label, anchor="middle"):
    drawing.text(x, y, label, anchor=anchor, small=True)


START = (48, 90)
FIRST = [
    ("汤姆", 0.5, 46, True),
    ("杰瑞", 0.4, 108, True),
    ("猫", 0.1, 170, False),
]
SECOND = [
    ("追逐", "0.20", 26, 0, True),
    ("追", "0.15", 58, 0, False),
    ("被", "0.36", 96, 1, True),
    ("在", "0.04", 128, 1, False),
]


def node(x, y, word, number, kept):
    drawing.text(x, y, f"{word} | {word}", bold=kept)
    small(x + 34, y, number)


drawing.text(START[0], START[1], "<bos>")
for word, chance, y, kept in FIRST:
    drawing.line((72, 90), (110, 90), (110, y), (132, y), dashed=not kept)
    node(156, y, word, f"{chance}", kept)
for word, number, y, parent, kept in SECOND:
    middle = FIRST[parent][2]
    drawing.line(
        (208, middle), (246, middle), (246, y), (270, y), dashed=not kept
    )
    node(292, y, word, number, kept)
small(346, 96, "概率最大 | most probable", "start")
small(208, 170, "虚线的丢掉 | dashed: dropped", "start")
