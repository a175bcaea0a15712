"""One head with its three learnt numbers: span, sparsity and gate."""

from literate.drawing import CELL, Drawing, same


N = 5  # tokens
SCORES = (
    (0.6,),
    (0.3, 0.7),
    (0.5, 0.2, 0.6),
    (0.2, 0.6, 0.3, 0.5),
    (0.7, 0.3, 0.5, 0.2, 0.6),
)
SPANNED = (  # a span of 1 and a ramp of 2: the third key back has faded
    (0.6,),
    (0.3, 0.7),
    (0.25, 0.2, 0.6),
    (None, 0.3, 0.3, 0.5),
    (None, None, 0.25, 0.2, 0.6),
)
WEIGHTS = (
    (1.0,),
    (0.25, 0.75),
    (None, 0.35, 0.65),
    (None, None, 0.4, 0.6),
    (None, None, None, 0.3, 0.7),
)
CHAIN = 196  # the middle of what follows from top to bottom
LEFT = 56
RIGHT = 380

drawing = Drawing(height=592)


def square(y, kind, rows, label):
    shades = [[*row, *[None] * (N - len(row))] for row in rows]
    area = drawing.cells(CHAIN - CELL * N / 2, y, N, N, kind, weights=shades)
    x, middle = area.right()[0] + 8, area.centre[1]
    drawing.text(x, middle, label, anchor="start", small=True)
    return area


def operation(y, label, above, number, name):
    """A box, and the learnt number that decides what it does."""
    box = drawing.box(CHAIN - 58, y, 116, 26, label)
    drawing.arrow(above.bottom(), box.top())
    ring = drawing.circle(LEFT, y + 13, 14, number, kind="a")
    drawing.arrow(ring.right(), box.left(), kind="a")
    drawing.text(LEFT, y + 38, name, small=True)
    return box


scores = square(8, "x", SCORES, "得分 5 × 5 | scores 5 × 5")
box = operation(100, "软掩码 | soft mask", scores, "$z$", "跨度 | span")
near = square(148, "x", SPANNED, "远处的键被挡住 | far keys are masked")
drawing.arrow(box.bottom(), near.top())
box = operation(
    240, same("$\\alpha$-entmax"), near, "$\\alpha$", "稀疏 | sparsity"
)
weights = square(288, "a", WEIGHTS, "权重，更多的零 | weights, more zeros")
drawing.arrow(box.bottom(), weights.top())

times = drawing.circle(CHAIN, 386, 10, "×")
value = drawing.cells(RIGHT - 21, 351, N, 3, "v")
drawing.text(value.right()[0] + 10, value.centre[1], "$V$")
drawing.arrow(weights.bottom(), times.top(), kind="a")
drawing.arrow(value.left(), times.right(), kind="v")
head = drawing.cells(CHAIN - 21, 414, N, 3, "v")
drawing.arrow(times.bottom(), head.top())
x, middle = head.right()[0] + 8, head.centre[1]
drawing.text(
    x, middle, "一个头 5 × 3 | one head, 5 × 3", anchor="start", small=True
)
box = operation(506, "乘以 $g$ | times $g$", head, "$g$", "门 | gate")

joined = drawing.cells(CHAIN - 84, 558, 1, 3, "v")
for number in (1, 2, 3):
    if number == 2:  # its gate is closed
        drawing.cells(CHAIN, 558, 1, 3, "v", weights=[[None] * 3])
    else:
        drawing.cells(
            CHAIN - 84 + 3 * CELL * number, 558, 1, 3, "v", pale=number > 0
        )
drawing.arrow(box.bottom(), (CHAIN - 63, 555))
drawing.text(
    CHAIN + 92,
    565,
    "四个头，一个关了 | four heads, one off",
    anchor="start",
    small=True,
)
