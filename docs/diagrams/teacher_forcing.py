"""Teacher forcing: the target is read and predicted, shifted by one."""

from literate.drawing import CELL, Drawing


COLUMNS = (182, 262, 342, 422)
READ = ("<bos>", "一个 | 一个 a", "红色的 | 红色的 red", "苹果 | 苹果 apple")
ANSWERS = (*READ[1:], "<eos>")
CAUSAL = [[1 if j <= i else None for j in range(4)] for i in range(4)]

drawing = Drawing(height=352)

drawing.text(8, 20, "原文 | source", anchor="start", small=True)
source = drawing.cells(50, 36, 3, 4, "x")
for row, token in enumerate(("a", "red", "apple")):
    y = source.y + CELL * (row + 0.5)
    drawing.text(43, y, token, anchor="end", small=True)
encoder = drawing.box(22, 106, 112, 28, "编码器 | encoder")
drawing.arrow((78, source.bottom()[1]), encoder.top())
memory = drawing.cells(50, 162, 3, 4, "x")
drawing.arrow(encoder.bottom(), memory.top())
drawing.text(78, 217, "memory", small=True)

drawing.text(
    302,
    20,
    "读入：译文去掉最后一个词元 | read: all target tokens but the last",
    small=True,
)
decoder = drawing.group(146, 106, 306, 112)
drawing.text(186, 124, "解码器 | decoder", small=True)
mask = drawing.cells(274, 134, 4, 4, "a", weights=CAUSAL)
drawing.text(302, 204, "因果掩码 | causal mask", small=True)
drawing.arrow(memory.right(), (decoder.x - 2, memory.centre[1]))
for i, (x, token, answer) in enumerate(
    zip(COLUMNS, READ, ANSWERS, strict=True), 1
):
    drawing.text(x, 44, token, small=True)
    cells = drawing.cells(x - 28, 58, 1, 4, "x")
    drawing.arrow(cells.bottom(), (x, decoder.y - 2))
    loss = drawing.circle(x, 268, 14, f"$L_{i}$")
    drawing.arrow((x, decoder.y + decoder.height + 2), loss.top())
    drawing.arrow((x, 312), loss.bottom())
    drawing.text(x, 322, answer, small=True)
drawing.text(8, 268, "四个损失 | four losses", anchor="start", small=True)
drawing.text(
    302,
    342,
    "标签：译文去掉第一个词元 | labels: all target tokens but the first",
    small=True,
)
