"""Parts III and V: one stack of encoder layers with six inputs, masks and heads."""

import math

from literate.drawing import CELL, Area, Drawing, numbered


N = 4  # tokens
COLUMN = 71
FULL = [[0.7] * N for _ in range(N)]
CAUSAL = [[0.7 if j <= i else None for j in range(N)] for i in range(N)]
EDGES = {(0, 1), (1, 2), (1, 3)}
GRAPH = [
    [0.7 if i == j or {(i, j), (j, i)} & EDGES else None for j in range(N)]
    for i in range(N)
]
TITLES = (
    numbered("图像 | image", "vit"),
    numbered("句子 | text", "tasks"),
    numbered("BERT", "language-models"),
    numbered("GPT", "language-models"),
    numbered("语音 | speech", "speech"),
    numbered("图 | graph", "graphs"),
)
MASKS = (FULL, FULL, FULL, CAUSAL, FULL, GRAPH)
HEADS = (
    ("整幅图 | the image:", "哪一类 | its class"),
    ("词的角色 | roles,", "句子的类 | or a class"),
    ("盖住的 | the token", "那个词元 | covered"),
    ("每个位置 | after each,", "的下一个 | the next"),
    ("每一帧 | each frame:", "的标签 | a label"),
    ("每个节点 | each node:", "的类 | its class"),
)
drawing = Drawing(height=370)


def middle(column: int) -> float:
    return 14 + COLUMN * (column + 0.5)


def tokens(x: float, y: float, hidden: int | None = None) -> Area:
    """A row of tokens, of which one may be covered."""
    left = x - CELL * N / 2
    for i in range(N):
        kind = "o" if i == hidden else "x"
        drawing.cells(left + CELL * i, y, 1, 1, kind)
    return Area(left, y, CELL * N, CELL)


def picture(x: float, y: float) -> None:
    """An image, cut into patches."""
    for row in range(2):
        for column in range(2):
            place = x - 19 + 20 * column, y - 19 + 20 * row
            drawing.box(*place, 18, 18, "", kind="x")


def wave(x: float, y: float) -> None:
    """A sound."""
    points = [
        (
            x - 28 + 0.7 * i,
            y - 16 * math.sin(i / 2.6) * math.sin(math.pi * i / 80),
        )
        for i in range(81)
    ]
    drawing.line(*points)


def graph(x: float, y: float) -> None:
    """Four nodes and three edges."""
    places = ((x - 24, y), (x, y), (x + 22, y - 15), (x + 22, y + 15))
    for a, b in sorted(EDGES):
        drawing.line(places[a], places[b])
    for place in places:
        drawing.dot(*place, "x", 5)


drawing.group(6, 4, 438, 96, "输入 | Input")
drawing.group(
    6,
    122,
    438,
    100,
    "同一叠编码器层，只换掩码 | "
    "One stack of encoder layers; only the mask differs",
)
drawing.group(6, 244, 438, 72, "输出头 | Head")
for column, (title, mask) in enumerate(zip(TITLES, MASKS, strict=True)):
    x = middle(column)
    drawing.text(x, 34, title, small=True)
    if column == 0:
        picture(x, 68)
    elif column == 4:
        wave(x, 68)
    elif column == 5:
        graph(x, 68)
    else:
        tokens(x, 61, hidden=2 if column == 2 else None)
    drawing.arrow((x, 100), (x, 119))
    drawing.cells(x - CELL * N / 2, 150, N, N, "a", weights=mask)
    drawing.arrow((x, 222), (x, 241))
    for line, label in enumerate(HEADS[column]):
        drawing.text(x, 278 + 18 * line, label, small=True)
drawing.box(
    100,
    336,
    260,
    27,
    numbered("预训练权重 | Pretrained weights", "pretrained"),
)
drawing.arrow((363, 349), (454, 349), (454, 172), (447, 172))
