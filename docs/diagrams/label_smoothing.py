"""The target distribution over four tokens, plain and smoothed."""

from literate.drawing import Drawing


HEIGHT = 96  # of a probability of 1
AXIS = 142
TOKENS = ("杰瑞 | Jerry", "汤姆 | Tom", "追逐 | chases", "。 | .")
drawing = Drawing(height=192)


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
