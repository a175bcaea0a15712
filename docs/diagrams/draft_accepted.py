"""Six tokens of a draft, cell by cell: what stands, and what replaces the rest."""

from literate.drawing import CELL, Drawing


MODEL = 8, 5, 3, 2, 1, 1  # twentieths
DRAFT = 4, 9, 1, 4, 1, 1
FLOOR = 162
STEP = 30
drawing = Drawing(height=206)


def bars(left, name, heights, kind, pale):
    """What both have stands below; what this one has beyond it, above."""
    drawing.text(left + 2.5 * STEP + CELL / 2, 14, name, bold=True)
    pairs = zip(heights, MODEL, DRAFT, strict=True)
    for i, (height, p, q) in enumerate(pairs):
        x, both = left + STEP * i, min(p, q)
        drawing.cells(x, FLOOR - CELL * both, both, 1, "v")
        if beyond := height - both:
            y = FLOOR - CELL * height
            drawing.cells(x, y, beyond, 1, kind, pale=pale)
        drawing.text(x + CELL / 2, FLOOR + 12, str(i + 1), small=True)


bars(34, "草稿 $q$ | draft $q$", DRAFT, "q", pale=True)
bars(262, "模型 $p$ | model $p$", MODEL, "k", pale=False)
for x, kind, pale, label in (
    (20, "v", False, "接受 14 格 | 14 cells accepted"),
    (174, "q", True, "拒绝 6 格 | 6 rejected"),
    (304, "k", False, "补抽 6 格 | 6 drawn instead"),
):
    drawing.cells(x, 185, 1, 1, kind, pale=pale)
    drawing.text(x + CELL + 6, 192, label, anchor="start", small=True)
drawing.arrow((214, 100), (252, 100))
