"""One trunk and three heads: a label a token, one label, another sentence."""

from literate.drawing import CELL, Drawing, same


WORDS = ("<bos>", "Tom", "saw", "Jerry", "yesterday", ".")
ROLES = ("agent", "verb", "patient", "time", "other")
CHINESE = ("汤姆", "昨天", "看见", "了", "杰瑞", "。", "<eos>")
WIDTH = 4  # of the token vectors, as drawn
ROWS = len(WORDS)

drawing = Drawing(height=466)


def label_rows(x, top, labels, anchor, kind=""):
    for row, label in enumerate(labels):
        y = top + CELL * (row + 0.5)
        drawing.text(x, y, same(label), anchor=anchor, small=True, kind=kind)


# the trunk
top = 30
drawing.text(40, 14, "6 个词元 | 6 tokens", small=True)
label_rows(66, top, WORDS, "end")
embedded = drawing.cells(70, top, ROWS, WIDTH, "x")
trunk = drawing.box(152, top + 22, 72, 40, "主干 | trunk")
drawing.arrow(embedded.right(), trunk.left())
vectors = drawing.cells(250, top, ROWS, WIDTH, "x")
drawing.text(278, 14, "$H$ 6 × $d_{model}$", small=True)
drawing.arrow(trunk.right(), vectors.left())
full = [[1.0] * ROWS for _ in WORDS]
mask = drawing.cells(354, top, ROWS, ROWS, "a", weights=full)
drawing.text(mask.centre[0], 14, "主干的掩码 | mask of the trunk", small=True)
drawing.text(
    mask.centre[0], top + 96, "彼此都看得到 | all see all", small=True
)

# where its output goes
frame_top = 158
start = frame_top + 54
PANELS = (
    (
        4,
        142,
        "N → N",
        "每个词元一个标签 | a label for each token",
        "线性层 | linear layer",
    ),
    (
        150,
        142,
        "N → 1",
        "整句一个标签 | one label",
        "池化、线性层 | pooler, linear",
    ),
    (296, 160, "N → M", "另一个句子 | another sentence", "解码器 | decoder"),
)
drawing.line(vectors.bottom(), (278, 140))
drawing.line((75, 140), (376, 140))
for i, (x, width, title, says, head) in enumerate(PANELS):
    middle = x + width / 2
    drawing.group(x, frame_top, width, 304)
    drawing.arrow((middle, 140), (middle, frame_top))
    drawing.text(middle, frame_top + 16, title, bold=True)
    drawing.text(middle, frame_top + 36, says, small=True)
    left = middle - WIDTH * CELL / 2
    for row in range(ROWS):  # pale where the head does not look
        pale = (i == 0 and row == 0) or (i == 1 and row > 0)
        kind = "k" if i == 2 else "x"
        drawing.cells(left, start + CELL * row, 1, WIDTH, kind, pale=pale)
    bottom = start + CELL * ROWS
    box = drawing.box(middle - 60, bottom + 18, 120, 25, head)
    drawing.arrow((middle, bottom + 3), box.top())
    drawing.arrow(box.bottom(), (middle, bottom + 60))
below = start + CELL * ROWS + 63
label_rows(72, below, WORDS[1:], "end")
label_rows(82, below, ROLES, "start")
drawing.text(221, below + 7, same("Tom"), small=True)
label_rows(347, below, CHINESE, "end")
causal = [[1.0 if j <= i else None for j in range(7)] for i in range(7)]
drawing.cells(352, below, 7, 7, "a", weights=causal)
