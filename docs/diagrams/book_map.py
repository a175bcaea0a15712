"""The parts of the book, what each leads to, and the chapters in it."""

from literate.drawing import CELL, Area, Drawing, same


WIDE = 206
HIGH = 122
drawing = Drawing(height=518)


def part(x: float, y: float, name: str, aim: str, chapters: str) -> Area:
    """A frame with its name above; aim and chapters stand below its picture."""
    frame = drawing.group(x, y, WIDE, HIGH, name)
    drawing.text(x + 10, y + 88, aim, anchor="start", small=True)
    drawing.text(x + 10, y + 106, chapters, anchor="start", small=True)
    return frame


attention = part(
    8,
    8,
    "第一部 注意力 | I. Attention",
    "从加权平均到多头注意力 | one average, then many heads",
    "第 1 至 7 章 | chapters 1 to 7",
)
x, y = attention.x + 14, attention.y + 30
drawing.cells(x, y, 3, 1, "a", weights=[[0.15], [0.75], [0.1]])
drawing.text(x + 28, y + 21, "×")
values = drawing.cells(x + 42, y, 3, 4, "v")
average = drawing.cells(x + 118, y + 14, 1, 4, "v")
drawing.arrow(values.right(), average.left())

transformer = part(
    246,
    8,
    "第二部 Transformer | II. Transformer",
    "搭起来，训练，翻译 | build, train, translate",
    "第 8 至 14 章 | chapters 8 to 14",
)
x, y = transformer.x + 12, transformer.y + 34
encoder = drawing.box(x, y, 80, 30, "编码器 | encoder")
decoder = drawing.box(x + 102, y, 80, 30, "解码器 | decoder")
drawing.arrow(encoder.right(), decoder.left())

vision = part(
    8,
    156,
    "第三部 不止翻译 | III. Beyond translation",
    "图像、语言模型、语音、图 | images, text, speech, graphs",
    "第 15 至 19 章 | chapters 15 to 19",
)
x, y = vision.x + 24, vision.y + 30
image = drawing.cells(x, y + 7, 2, 3, "x")
patches = drawing.cells(x + 66, y + 14, 1, 6, "x")
drawing.arrow(image.right(), patches.left())

fast = part(
    246,
    156,
    "第四部 快 | IV. Fast",
    "先用好一块 GPU，再用很多块 | one GPU, then many",
    "第 20、23 章 | chapters 20 and 23",
)
x, y = fast.x + 12, fast.y + 36
one = drawing.box(x, y, 44, 26, same("GPU"))
two = drawing.box(x + 68, y, 44, 26, same("GPU"))
three = drawing.box(x + 136, y, 44, 26, same("GPU"))
drawing.line(one.right(), two.left())
drawing.line(two.right(), three.left())

trust = part(
    127,
    304,
    "第五部 看懂与信任 | V. Seeing and trusting",
    "看懂它，检验它 | see into it, test it",
    "第 24 至 27 章 | chapters 24 to 27",
)
x, y = trust.x + 30, trust.y + 30
for row in range(3):
    kind = "o" if row == 1 else "x"
    words = drawing.cells(x, y + CELL * row, 1, 4, kind)
weights = drawing.cells(
    x + 98,
    y,
    3,
    3,
    "a",
    weights=[[0.9, 0.1, 0.1], [0.1, 0.9, 0.5], [0.1, 0.3, 0.95]],
)
drawing.arrow((x + 4 * CELL + 3, weights.centre[1]), weights.left())

workshop = drawing.group(8, 452, 444, 58, "第六部 工坊 | VI. Workshop")
drawing.text(
    18,
    490,
    "软件包怎样做得又快又稳，第 30 章起 | "
    "how the package is made fast and safe, chapters 30 and up",
    anchor="start",
    small=True,
)
drawing.arrow(attention.right(), transformer.left())
drawing.arrow(transformer.bottom(), fast.top())
drawing.arrow(transformer.bottom(0.15), vision.top(0.85))
drawing.arrow(vision.bottom(0.7), trust.top(0.2))
drawing.arrow(fast.bottom(0.3), trust.top(0.8))
