"""The card of the labs: the losses that the lab on translation prints."""

from literate.drawing import Drawing


STEPS = (250, 500, 1000, 1500, 2000, 2500, 3000, 3500, 4000)
TRAINING = (6.40, 5.36, 4.16, 3.62, 3.27, 3.09, 2.91, 2.86, 2.75)
WATCHED = (5.55, 4.60, 3.33, 2.80, 2.55, 2.37, 2.29, 2.24, 2.23)

drawing = Drawing(height=104, width=220)

drawing.line((18, 6), (18, 97), (204, 97))
for losses, kind in ((TRAINING, "x"), (WATCHED, "o")):
    points = [
        (20 + 0.045 * n, 110 - 15 * loss)
        for n, loss in zip(STEPS, losses, strict=True)
    ]
    drawing.line(*points, kind=kind)
    for point in points:
        drawing.dot(*point, kind)
drawing.text(130, 30, "损失 | loss")
