"""What each token of a translation depends on, in two kinds of model."""

from itertools import combinations

from literate.drawing import Drawing


TOKENS = ("$y_1$", "$y_2$", "$y_3$")

drawing = Drawing(height=168)


def model(left, name, source):
    """The source above, three tokens below, an arrow to each."""
    middle = left + 96
    drawing.text(middle, 16, name)
    box = drawing.box(middle - 84, 32, 168, 26, source)
    circles = []
    for i, token in enumerate(TOKENS):
        circle = drawing.circle(left + 36 + 60 * i, 112, 14, token)
        drawing.arrow((circle.centre[0], box.bottom()[1]), circle.top())
        circles.append(circle)
    return circles


chain = model(14, "自回归 | autoregressive", "原文 $x$ | source $x$")
for (i, first), (j, second) in combinations(enumerate(chain), 2):
    if j == i + 1:
        drawing.arrow(first.right(), second.left())
    else:
        x, y = first.bottom()
        drawing.arrow(
            (x, y), (x, 150), (second.bottom()[0], 150), (second.bottom())
        )
model(
    254,
    "非自回归 | non-autoregressive",
    "原文 $x$，长度 $n$ | source $x$, length $n$",
)
