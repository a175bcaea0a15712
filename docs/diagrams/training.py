"""One step of training: batch, model, loss, gradients, clipping, update."""

from itertools import pairwise

from literate.drawing import CELL, Area, Drawing


FORWARD = 314  # the middle of the way forward
BACK = 88  # and of the way back
TOKENS = ("<bos>", "汤姆 | Tom", "追逐 | chases", "杰瑞 | Jerry", "<eos>")
drawing = Drawing(height=366)


def box(
    x: float, y: float, width: float, label: str, height: float = 25
) -> Area:
    return drawing.box(x - width / 2, y, width, height, label)


# Forward, from top to bottom.
source = drawing.cells(FORWARD - 72, 30, 1, 3, "x")
drawing.text(source.centre[0], 18, "原文 | source", small=True)
given = drawing.cells(FORWARD + 2, 30, 1, 4, "x")
drawing.text(given.centre[0], 18, "译文 | translation", small=True)
following = drawing.cells(394, 30, 1, 4, "x")
drawing.text(following.centre[0], 18, "目标 | labels", small=True)
model = box(
    FORWARD, 76, 160, "模型，参数 $\\theta$ | model, parameters $\\theta$", 32
)
for part in (source, given):
    drawing.arrow(part.bottom(), (part.centre[0], model.top()[1]))
logits = drawing.cells(FORWARD - 42, 138, 4, 6, "x")
drawing.arrow(model.bottom(), logits.top())
drawing.text(FORWARD + 12, 209, "logits", anchor="start", small=True)
for i, (token, label) in enumerate(pairwise(TOKENS)):
    y = 145 + CELL * i
    drawing.text(FORWARD - 49, y, token, anchor="end", small=True)
    drawing.text(FORWARD + 49, y, label, anchor="start", small=True)
loss_fn = box(FORWARD, 224, 120, "交叉熵 | cross-entropy")
drawing.arrow(logits.bottom(), loss_fn.top())
down = following.centre[0]
drawing.arrow(following.bottom(), (down, loss_fn.centre[1]), loss_fn.right())
loss = drawing.cells(FORWARD - 7, 280, 1, 1, "x")
drawing.arrow(loss_fn.bottom(), loss.top())
drawing.text(FORWARD + 14, 287, "损失 $L$ | loss $L$", anchor="start")

# Back, from bottom to top.
gradients = drawing.cells(BACK - 28, 280, 3, 4, "x", pale=True)
y = loss.centre[1]
drawing.arrow(loss.left(), (gradients.right()[0], y), dashed=True)
drawing.text(214, y - 11, "反向传播 | backward", small=True)
drawing.text(BACK, 354, "梯度 | gradients", small=True)
low = gradients.bottom()[1] - 6
drawing.arrow(
    (gradients.right()[0], low - 14),
    (146, low - 14),
    (146, low + 18),
    (108, low + 18),
    (108, gradients.bottom()[1]),
    dashed=True,
)
drawing.text(
    152,
    low + 5,
    "$k$ 个批量累积 | accumulate $k$ batches",
    anchor="start",
    small=True,
)
clip = box(BACK, 224, 120, "裁剪 | clip")
drawing.arrow(gradients.top(), clip.bottom())
update = box(BACK, 160, 120, "AdamW")
drawing.arrow(clip.top(), update.bottom())
way = model.left()[1]
drawing.arrow(update.top(0.8), (update.top(0.8)[0], way), model.left())
drawing.text(184, way - 10, "更新 | update", small=True)

# The learning rate over the steps: up in a line, down as a root.
axis = 112
drawing.line((24, axis - 62), (24, axis), (112, axis))
curve = [
    (24 + x, axis - 50 * min(x / 18, (18 / max(x, 1)) ** 0.5))
    for x in range(84)
]
drawing.line(*curve)
drawing.text(
    24, axis - 72, "学习率 | learning rate", anchor="start", small=True
)
drawing.arrow((56, axis + 6), (56, update.top()[1]))
