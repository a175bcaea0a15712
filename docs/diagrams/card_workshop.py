"""The card of Part VI: a file is written beside, then moved into place."""

from literate.drawing import Drawing


WIDE, HIGH, FOLD = 56, 72, 14

drawing = Drawing(height=104, width=220)


def page(x, y, *, dashed=False):
    """A page with a corner turned down, and lines on it."""
    edge, low = x + WIDE, y + HIGH
    corner = [(edge - FOLD, y), (edge, y + FOLD)]
    drawing.line((x, y), *corner, (edge, low), (x, low), (x, y), dashed=dashed)
    drawing.line(corner[0], (edge - FOLD, y + FOLD), corner[1])
    for i, length in enumerate((20, 36, 28, 34, 16)):
        drawing.line(
            (x + 10, y + 16 + 11 * i), (x + 10 + length, y + 16 + 11 * i)
        )


page(30, 8, dashed=True)
page(134, 8)
drawing.arrow((94, 44), (126, 44))
drawing.text(58, 93, "$1$")
drawing.text(162, 93, "$2$")
