"""Where one can look into a layer of attention, and what can be changed there."""

from literate.drawing import CELL, Drawing


MIDDLE = 130
WEIGHTS = [[0.2, 0.9, 0.1], [0.6, 0.1, 0.5], [0.1, 0.9, 0.2]]
TOKENS = ("汤姆 | Tom", "追逐 | chases", "杰瑞 | Jerry")

drawing = Drawing(height=476)


def note(y, *lines):
    """What is looked at, and what is changed, beside a station."""
    for i, line in enumerate(lines):
        drawing.text(248, y + 17 * i, line, anchor="start", small=i > 0)


# the words, one of them left out
for row, token in enumerate(TOKENS):
    y = 26 + CELL * row
    drawing.text(MIDDLE - 64, y + 7, token, anchor="end", small=True)
    drawing.cells(MIDDLE - 56, y, 1, 8, "o" if row == 1 else "x")
note(
    32,
    "嵌入 | embeddings",
    "去掉一个词，一行改成 0 | leave a word out: a row of 0",
)
drawing.arrow((MIDDLE, 71), (MIDDLE, 94))

# the weights, which make a map
weights = drawing.cells(MIDDLE - 21, 100, 3, 3, "a", weights=WEIGHTS)
note(
    106,
    "权重 | weights",
    "画成图，或换成别的 | a map, or other weights",
)
drawing.arrow((MIDDLE, 145), (MIDDLE, 168))

# the heads, one of them silent
drawing.cells(MIDDLE - 60, 174, 3, 4, "v")
drawing.cells(MIDDLE + 4, 174, 3, 4, "o")
note(
    180,
    "头 | heads",
    "关掉一个头，改成 0 | silence a head: 0",
)
drawing.arrow((MIDDLE, 219), (MIDDLE, 242))
norm = drawing.box(
    MIDDLE - 70, 246, 140, 25, "这一层的其余部分 | rest of the layer"
)
drawing.arrow((MIDDLE, 274), (MIDDLE, 297))

# the output of the layer, with a row from another run
for row in range(3):
    drawing.cells(
        MIDDLE - 56, 303 + CELL * row, 1, 8, "k" if row == 1 else "x"
    )
note(
    309,
    "层的输出 | output of the layer",
    "一行换成另一句的 | patch: a row of another run",
    "后面的层跳过去 | lens: skip the layers after it",
)
drawing.arrow((MIDDLE, 348), (MIDDLE, 371))
rest = drawing.box(MIDDLE - 70, 375, 140, 25, "后面的层 | later layers")
drawing.arrow((MIDDLE, 403), (MIDDLE, 426))
drawing.text(MIDDLE, 440, "$s$", large=True)
note(
    440,
    "得分 | score",
    "改了以后变多少 | by how much does it change?",
)
