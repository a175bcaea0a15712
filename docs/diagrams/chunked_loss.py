"""Cross-entropy over a large vocabulary, whole and chunk by chunk."""

from literate.drawing import CELL, Drawing


drawing = Drawing(height=216)
TOKENS, VOCAB, CHUNK = 6, 10, 2


drawing.text(112, 14, "一次算完 | all at once", bold=True)
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

drawing.text(362, 14, "分块 | in chunks", bold=True)
for number in range(TOKENS // CHUNK):
    y = 50 + number * (CHUNK * CELL + 9)
    chunk = drawing.cells(256, y, CHUNK, 3, "x", pale=number != 1)
    if number == 1:
        logits = drawing.cells(314, y, CHUNK, VOCAB, "x", pale=True)
        drawing.arrow(chunk.right(), logits.left())
drawing.text(277, 40, "2 × $d$", small=True)
drawing.text(384, logits.top()[1] - 10, "logits 2 × 10", small=True)
loss = drawing.box(348, 158, 72, 25, "损失 | loss")
drawing.arrow(logits.bottom(), loss.top())
drawing.text(
    352, 200, "用完就扔，再算下一块 | then the next two tokens", small=True
)
