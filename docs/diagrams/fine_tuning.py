"""Three ways to train on labels: the head alone, LoRA, and the whole model."""

from literate.drawing import CELL, Area, Drawing, same


N = 6  # width of a layer, as drawn
RANK = 1
drawing = Drawing(height=272)


def column(left: float, title: str, says: str, *, frozen: bool) -> Area:
    """The trunk's matrix with a head above it; pale cells stay as they are."""
    middle = left + 70
    drawing.text(middle, 12, title, bold=True)
    drawing.text(middle, 32, says, small=True)
    head = drawing.cells(middle - CELL * N / 2, 72, 2, N, "x")
    drawing.text(middle, 62, "输出头 | head", small=True)
    matrix = drawing.cells(middle - CELL * N / 2, 156, N, N, "x", pale=frozen)
    drawing.arrow((middle, matrix.y - 28), head.bottom())
    drawing.text(middle, 256, "主干的 $W$ | $W$ of the trunk", small=True)
    return matrix


column(
    0,
    "只训练输出头 | the head alone",
    "主干不动 | the trunk is frozen",
    frozen=True,
)
matrix = column(
    156,
    same("LoRA"),
    "只加一个 $BA$ | $BA$ is added",
    frozen=True,
)
drawing.cells(matrix.x - CELL * (RANK + 0.6), matrix.y, N, RANK, "x")
drawing.text(
    matrix.x - CELL * 1.1, matrix.y + N * CELL + 12, "$B$", small=True
)
drawing.cells(matrix.x, matrix.y - CELL * (RANK + 0.6), RANK, N, "x")
drawing.text(
    matrix.x + N * CELL + 12, matrix.y - CELL * 1.1, "$A$", small=True
)
column(
    316,
    "整个微调 | the whole model",
    "每个数都学 | all is trained",
    frozen=False,
)
