"""The whole Transformer in one picture, with the chapters of Part II as places."""

from literate.drawing import Area, Drawing, chapters, same


BOX = 150  # the width of a sublayer
LEFT = 113  # the middle of the encoder
RIGHT = 333  # and of the decoder
TARGET = "汤姆 追逐 杰瑞"  # in both editions: the translation
drawing = Drawing(height=618)


def place(
    x: float, y: float, width: float, height: float, name: str, chapter: str
) -> Area:
    """A frame with its name in one corner and its chapter in the other."""
    area = drawing.group(x, y, width, height, name)
    drawing.text(x + width - 9, y + 13, chapter, anchor="end", small=True)
    return area


def sublayers(centre: float, y: float, side: int, *labels: str) -> list[Area]:
    """Sublayers, each with the residual connection around it."""
    boxes: list[Area] = []
    for label in labels:
        box = drawing.box(centre - BOX / 2, y, BOX, 25, label)
        added = drawing.box(
            centre - BOX / 2,
            y + 36,
            BOX,
            21,
            "相加、归一化 | add & norm",
            kind="x",
        )
        drawing.arrow(box.bottom(), added.top())
        way = centre + side * (BOX / 2 + 12)
        edge = added.right() if side > 0 else added.left()
        drawing.arrow((centre, y - 9), (way, y - 9), (way, edge[1]), edge)
        boxes += [box, added]
        y += 72
    for before, after in zip(boxes[1::2], boxes[2::2], strict=False):
        drawing.arrow(before.bottom(), after.top())
    return boxes


def entrance(centre: float, label: str) -> tuple[Area, Area]:
    """From token ids to vectors with their positions."""
    embedding = drawing.box(centre - BOX / 2, 92, BOX, 25, label)
    plus = drawing.circle(centre, 138, 9, "+")
    drawing.arrow(embedding.bottom(), plus.top())
    drawing.circle(centre - 42, 138, 9)
    drawing.line((centre - 42, 138), (centre - 37, 133), kind="q")
    drawing.arrow((centre - 30, 138), plus.left())
    drawing.text(
        centre + 15, 138, "位置 | position", anchor="start", small=True
    )
    return embedding, plus


corpus = place(6, 4, 434, 48, "输入 | What goes in", chapters("corpus"))
drawing.text(LEFT, 37, "Tom chases Jerry")
drawing.text(RIGHT, 37, same(f"<bos> {TARGET}"))

place(6, 64, 434, 436, "整个模型 | The model", chapters("transformer"))
source, target = (
    entrance(x, "词元嵌入 | token embedding") for x in (LEFT, RIGHT)
)
for x, (embedding, _) in ((LEFT, source), (RIGHT, target)):
    drawing.arrow((x, 48), embedding.top())

place(
    14,
    160,
    206,
    172,
    "编码器 × $N$ | Encoder × $N$",
    chapters("encoder", "residuals"),
)
encoder = sublayers(
    LEFT, 194, -1, "自注意力 | self-attention", "前馈网络 | feed-forward"
)
drawing.arrow(source[1].bottom(), encoder[0].top())

place(234, 160, 198, 244, "解码器 × $N$ | Decoder × $N$", chapters("decoder"))
decoder = sublayers(
    RIGHT,
    194,
    1,
    "掩码自注意力 | masked self-attention",
    "交叉注意力 | cross-attention",
    "前馈网络 | feed-forward",
)
drawing.arrow(target[1].bottom(), decoder[0].top())

memory = drawing.cells(LEFT - 42, 354, 3, 6, "x")
drawing.arrow(encoder[-1].bottom(), memory.top())
drawing.text(LEFT, 408, "编码器的输出 | encoder output", small=True)
cross = decoder[2]
for kind, at, way, share in (("k", 0.3, 224, 0.3), ("v", 0.7, 230, 0.7)):
    start, end = memory.right(at), cross.left(share)
    drawing.arrow(start, (way, start[1]), (way, end[1]), end, kind=kind)
drawing.text(182, 356, "$K$")
drawing.text(182, 394, "$V$")

linear = drawing.box(RIGHT - BOX / 2, 418, BOX, 25, "输出层 | output layer")
softmax = drawing.box(RIGHT - BOX / 2, 457, BOX, 25, "softmax")
drawing.arrow(decoder[-1].bottom(), linear.top())
drawing.arrow(linear.bottom(), softmax.top())

place(14, 512, 206, 98, "训练 | Training", chapters("training", "recipe"))
loss = drawing.box(LEFT - BOX / 2, 538, BOX, 25, "损失 | loss")
drawing.arrow(
    softmax.left(),
    (227, softmax.centre[1]),
    (227, loss.centre[1]),
    loss.right(),
)
drawing.text(LEFT, 592, same(f"{TARGET} <eos>"))
drawing.arrow((LEFT, 582), loss.bottom())

its_chapters = chapters("decoding", "beam-search", "scores", "real-text")
place(234, 512, 198, 98, "解码 | Decoding", its_chapters)
drawing.arrow(softmax.bottom(), (RIGHT, 546))
drawing.text(RIGHT, 557, same(f"{TARGET} <eos>"))
drawing.text(
    RIGHT, 592, "生成的接到输入后面 | each token is fed back", small=True
)
drawing.arrow((435, 557), (452, 557), (452, 37), (443, 37), dashed=True)
