"""One meaning, two templates: the phrases that fill their gaps come in pairs."""

from literate.drawing import Drawing, same


COLUMNS = [124, 218, 312, 406]  # the middle of each
WIDTH = 84
ENGLISH = ["{who}", "bought", "{what}", "{when}"]
CHINESE = ["{who}", "{when}", "买 了", "{what}"]
PAIRS = [(0, 0), (1, 2), (2, 3), (3, 1)]  # a place above, its place below

drawing = Drawing(height=212)


def row(y, label, texts):
    """Write a text into each column, and its name on the left."""
    drawing.text(76, y, label, anchor="end", small=True)
    for x, text in zip(COLUMNS, texts, strict=True):
        drawing.text(x, y, same(text))


def template(y, label, places):
    """Draw the places of a template; those in braces are gaps."""
    drawing.text(76, y + 12, label, anchor="end", small=True)
    return [
        drawing.box(x - WIDTH / 2, y, WIDTH, 24, same(place))
        for x, place in zip(COLUMNS, places, strict=True)
    ]


row(18, "英语 | English", ["Tom", "bought", "two books", "yesterday"])
above = template(36, "模板 | template", ENGLISH)
below = template(128, "模板 | template", CHINESE)
for i, j in PAIRS:
    drawing.line(above[i].bottom(), below[j].top())
words = ["汤姆", "昨天", "买 了", "两 本 书"]
row(172, "汉语 | Chinese", words)
meaning = [
    "Tom",
    "yesterday",
    "buy + 了",
    "two + 本 + book",
]
row(198, "逐词 | gloss", meaning)
