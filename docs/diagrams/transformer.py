"""The whole Transformer: the sublayers of its layers, up to the next word."""

from literate.drawing import CELL, Drawing


D = 6  # width of the token vectors
LEFT = 118
RIGHT = 330
HALF = 78  # of a box
START = "<bos> 汤姆 追逐"
WORDS = ("汤姆", "追逐", "杰瑞", "<eos>")
CHANCES = (0.03, 0.02, 0.93, 0.02)
ENCODER = ("自注意力 | self-attention", "前馈网络 | feed-forward")
DECODER = (
    "因果自注意力 | masked self-attention",
    "交叉注意力 | cross-attention",
    "前馈网络 | feed-forward",
)

drawing = Drawing(height=664)


def box(centre, y, label):
    return drawing.box(centre - HALF, y, 2 * HALF, 25, label)


def vectors(centre, y, rows, pale=False):
    left = centre - D * CELL / 2
    return drawing.cells(left, y, rows, D, "x", pale=pale)


def note(area, label, side="end"):
    x = area.left()[0] - 4 if side == "end" else area.right()[0] + 4
    drawing.text(x, area.centre[1], label, anchor=side, small=True)


def enter(centre, tokens):
    """From tokens to the vectors that enter a stack of layers."""
    drawing.text(centre, 14, tokens)
    table = box(centre, 32, "嵌入 + 位置 | embed + position")
    drawing.arrow((centre, 23), table.top())
    x = vectors(centre, 76, 3)
    drawing.arrow(table.bottom(), x.top())
    return x


def layer(x, start, around, sublayers):
    """Sublayers, each with the path around it that adds its input."""
    centre = x.centre[0]
    boxes = []
    end = x
    for i, label in enumerate(sublayers):
        top = start + 94 * i
        sublayer = box(centre, top, label)
        drawing.arrow(end.bottom(), sublayer.top())
        end = box(centre, top + 40, "残差 + 归一化 | add & norm")
        drawing.arrow(sublayer.bottom(), end.top())
        corners = [(around, top - 12), (around, end.centre[1])]
        port = end.left() if around < centre else end.right()
        drawing.arrow((centre, top - 12), *corners, port)
        boxes.append(sublayer)
    return boxes, end


source = enter(LEFT, "Tom chases Jerry")
target = enter(RIGHT, f"{START} | {START}")
note(source, "3 × $d$")
note(target, "3 × $d$", "start")
drawing.group(8, 134, 204, 214, "编码器 × $N$ | encoder × $N$")
drawing.group(236, 134, 216, 308, "解码器 × $N$ | decoder × $N$")
_, encoded = layer(source, 180, 26, ENCODER)
decoder, decoded = layer(target, 180, 434, DECODER)

memory = vectors(LEFT, 366, 3)
drawing.arrow(encoded.bottom(), memory.top())
drawing.text(LEFT, 420, "memory", small=True)
cross = decoder[1].left()
drawing.arrow(memory.right(), (224, memory.centre[1]), (224, cross[1]), cross)

vectors(RIGHT, 460, 2, pale=True)
last = vectors(RIGHT, 460 + 2 * CELL, 1)
drawing.arrow(decoded.bottom(), (RIGHT, 457))
note(last, "最后一个位置 | last position")
output = box(RIGHT, 522, "输出层 | output layer")
drawing.arrow(last.bottom(), output.top())
note(output, "和嵌入共用一张表 | table shared with embed")
softmax = box(RIGHT, 564, "softmax")
drawing.arrow(output.bottom(), softmax.top())
for i, (word, chance) in enumerate(zip(WORDS, CHANCES, strict=True)):
    x = RIGHT - 66 + 44 * i
    weights = [[0.08 + 0.9 * chance]]
    drawing.cells(x - CELL / 2, 610, 1, 1, "x", weights=weights)
    drawing.text(x, 638, f"{word} | {word}", small=True)
drawing.arrow(softmax.bottom(), (RIGHT, 607))
for y, line in (
    (616, "下一个词的概率 | probabilities"),
    (634, "最大的是杰瑞 | of the next word"),
):
    drawing.text(RIGHT - 98, y, line, anchor="end", small=True)
