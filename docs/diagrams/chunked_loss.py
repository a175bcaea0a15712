"""Cross-entropy over a large vocabulary, whole and chunk by chunk."""

from literate.drawing import CELL, Drawing


drawing = Drawing(height=226)
TOKENS, VOCAB = 6, 10


def title(x, label):
    drawing.text(x, 14, label, bold=True)


title(112, "一次算完 | all at once")
states = drawing.cells(16, 50, TOKENS, 3, "x")
logits = drawing.cells(92, 50, TOKENS, VOCAB, "x", pale=True)
drawing.arrow(states.right(), logits.left())
drawing.text(162, 40, "logits 6 × 10", small=True)
drawing.text(37, 40, "6 × $d$", small=True)
loss = drawing.box(126, 158, 72, 25, "损失 | loss")
drawing.arrow(logits.bottom(), loss.top())
drawing.text(
    162, 200, "每个词元一行 logits | a row of logits a token", small=True
)

title(352, "分块 | in chunks")
states = drawing.cells(252, 50, TOKENS, 3, "x")
for y in (50 + 2 * CELL, 50 + 4 * CELL):
    drawing.line((246, y), (300, y), dashed=True)
logits = drawing.cells(312, 64, 2, VOCAB, "x", pale=True)
drawing.arrow((297, 78), logits.left())
drawing.text(382, 54, "logits 2 × 10", small=True)
loss = drawing.box(346, 158, 72, 25, "损失 | loss")
drawing.arrow(logits.bottom(), loss.top())
drawing.text(
    352, 200, "用完就扔，再算下一块 | then the next two tokens", small=True
)
