"""Label smoothing: target distributions, and the loss over p."""

from math import log

from literate.drawing import Drawing


HEIGHT = 96  # of a probability of 1
AXIS = 142
TOKENS = ("杰瑞 | Jerry", "汤姆 | Tom", "追逐 | chases", "。 | .")
drawing = Drawing(height=384)


def bars(left: float, title: str, values: tuple[float, ...]) -> None:
    drawing.text(left + 100, 16, title)
    drawing.line((left, AXIS), (left + 200, AXIS))
    for i, (token, value) in enumerate(zip(TOKENS, values, strict=True)):
        x = left + 25 + 50 * i
        height = HEIGHT * value
        if height:
            drawing.box(x - 14, AXIS - height, 28, height, "", kind="x")
        drawing.text(x, AXIS - height - 10, f"{value:.3g}", small=True)
        drawing.text(x, AXIS + 13, token, small=True)


bars(16, "不平滑 | plain", (1, 0, 0, 0))
bars(
    244,
    "平滑，$\\epsilon$ = 0.1 | smoothed, $\\epsilon$ = 0.1",
    (0.925, 0.025, 0.025, 0.025),
)
drawing.text(
    230,
    180,
    "每个词元都分到 $\\epsilon$ / $V$ = 0.1 / 4 | each token gets $\\epsilon$ / $V$ = 0.1 / 4",
    small=True,
)

# The loss if the right token has p and the other three share the rest.
LEFT = 76
BOTTOM = 340
WIDTH = 308  # of p from 0.5 to 1
UNIT = 150  # of a loss of 1


def point(p: float, smoothing: float) -> tuple[float, float]:
    others = smoothing * 3 / 4
    loss = -(1 - others) * log(p) - others * log((1 - p) / 3)
    return LEFT + WIDTH * (2 * p - 1), BOTTOM - UNIT * loss


drawing.line((LEFT, 218), (LEFT, BOTTOM), (LEFT + WIDTH + 8, BOTTOM))
curve = [1 - 0.5 * 0.9**i for i in range(68)]  # closer together towards 1
for smoothing in (0, 0.1):
    drawing.line(*(point(p, smoothing) for p in curve), dashed=not smoothing)
drawing.dot(*point(0.925, 0.1), "x")
drawing.text(LEFT - 8, 224, "损失 | loss", anchor="end", small=True)
drawing.text(172, 322, "不平滑 | plain", anchor="end", small=True)
drawing.text(
    290, 244, "平滑，最低在 0.925 | smoothed, lowest at 0.925", small=True
)
for p in (0.5, 0.925):
    x, _ = point(p, 0)
    drawing.text(x, BOTTOM + 13, f"{p:g}", small=True)
drawing.text(LEFT + WIDTH, BOTTOM + 13, "1", small=True)
drawing.text(
    218,
    BOTTOM + 28,
    "正确的词元的概率 $p$ | probability $p$ of the right token",
    small=True,
)
