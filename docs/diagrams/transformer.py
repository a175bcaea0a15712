"""The whole Transformer as a flow of tensors, up to the next word."""

from literate.drawing import CELL, Drawing


D = 6  # width of the token vectors
LEFT = 112
RIGHT = 348
START = "<bos> 汤姆 追逐"
WORDS = ("汤姆", "追逐", "杰瑞", "<eos>")
CHANCES = (0.03, 0.02, 0.93, 0.02)

drawing = Drawing(height=492)


def matrix(centre, y, rows, kind="x"):
    return drawing.cells(centre - D * CELL / 2, y, rows, D, kind)


def note(area, label, side="end"):
    x = area.left()[0] - 4 if side == "end" else area.right()[0] + 4
    drawing.text(x, area.centre[1], label, anchor=side, small=True)


def enter(centre, tokens):
    """From tokens to the vectors that enter a stack of layers."""
    drawing.text(centre, 13, tokens)
    table = drawing.box(
        centre - 66, 32, 132, 25, "嵌入 + 位置 | embed + position"
    )
    drawing.arrow((centre, 22), table.top())
    vectors = matrix(centre, 76, 3)
    drawing.arrow(table.bottom(), vectors.top())
    return vectors


source = enter(LEFT, "Tom chases Jerry")
target = enter(RIGHT, f"{START} | {START}")
note(source, "3 × $d$")
note(target, "3 × $d$", "start")
encoder = drawing.box(LEFT - 66, 140, 132, 40, "编码器 × $N$ | encoder × $N$")
decoder = drawing.box(RIGHT - 66, 208, 132, 40, "解码器 × $N$ | decoder × $N$")
drawing.arrow(source.bottom(), encoder.top())
drawing.arrow(target.bottom(), decoder.top())
memory = matrix(LEFT, 208, 3)
drawing.arrow(encoder.bottom(), memory.top())
drawing.text(LEFT, 262, "memory", small=True)
drawing.arrow(memory.right(), (decoder.left()[0], memory.centre[1]))
states = matrix(RIGHT, 268, 3)
drawing.arrow(decoder.bottom(), states.top())
note(states, "3 × $d$", "start")
last = matrix(RIGHT, 330, 1)
drawing.arrow(states.bottom(), last.top())
note(last, "最后一个位置 | last position")
output = drawing.box(RIGHT - 66, 366, 132, 25, "输出层 | output layer")
drawing.arrow(last.bottom(), output.top())
drawing.text(
    RIGHT - 78,
    378,
    "和嵌入共用一张表 | the table of embeddings",
    anchor="end",
    small=True,
)
softmax = drawing.box(RIGHT - 66, 408, 132, 25, "softmax")
drawing.arrow(output.bottom(), softmax.top())
for i, (word, chance) in enumerate(zip(WORDS, CHANCES, strict=True)):
    x = RIGHT - 66 + 44 * i
    drawing.cells(
        x - CELL / 2, 452, 1, 1, "x", weights=[[0.08 + 0.9 * chance]]
    )
    drawing.text(x, 476, f"{word} | {word}", small=True)
drawing.arrow(softmax.bottom(), (RIGHT, 449))
drawing.text(
    RIGHT - 96, 458, "下一个词的概率 | probabilities", anchor="end", small=True
)
drawing.text(
    RIGHT - 96,
    474,
    "概率最大的是杰瑞 | of the next word",
    anchor="end",
    small=True,
)
