"""One context vector for all target words, or one for each."""

from itertools import pairwise

from literate.drawing import CELL, Drawing


SOURCE = ("Tom", "chases", "Jerry")
TARGET = ("汤姆 | 汤姆", "追逐 | 追逐", "杰瑞 | 杰瑞")
WEIGHTS = ([0.9, 0.15, 0.1], [0.15, 0.85, 0.15], [0.1, 0.15, 0.9])

drawing = Drawing(height=322)


def column(x, y, kind):
    return drawing.cells(x - CELL / 2, y, 3, 1, kind)


def recurrence(areas, *, both):
    for before, after in pairwise(areas):
        y = before.centre[1] - (4 if both else 0)
        drawing.arrow((before.right()[0], y), (after.left()[0], y))
        if both:
            drawing.arrow((after.left()[0], y + 8), (before.right()[0], y + 8))


def panel(left, name, kind):
    """The two ends of a panel: encoder and decoder states."""
    places = [left + 38, left + 106, left + 174]
    drawing.text(left + 106, 14, name, bold=True)
    encoder, decoder = [], []
    for x, source, target in zip(places, SOURCE, TARGET, strict=True):
        drawing.text(x, 40, source)
        encoder.append(column(x, 52, kind))
        decoder.append(column(x, 242, "q"))
        drawing.text(x, 304, target)
    recurrence(encoder, both=True)
    recurrence(decoder, both=False)
    return places, encoder, decoder


places, encoder, decoder = panel(8, "固定的 $C$ | one fixed $C$", "x")
context = column(places[1], 152, "x")
drawing.text(places[1] + 14, 173, "$C$", anchor="start")
for area in (encoder[0], encoder[2]):
    drawing.arrow(area.bottom(), context.top(), bend=0.6)
for area in decoder:
    drawing.arrow(context.bottom(), area.top())

places, encoder, decoder = panel(
    240, "每个词一个 $C_i$ | a $C_i$ for each word", "k"
)
for i, (x, area) in enumerate(zip(places, decoder, strict=True)):
    shares = drawing.cells(
        x - 1.5 * CELL, 130, 1, 3, "a", weights=[WEIGHTS[i]]
    )
    for state in encoder:
        drawing.arrow(state.bottom(), shares.top(), kind="k", bend=0.5)
    own = column(x, 168, "x")
    drawing.arrow(shares.bottom(), own.top(), kind="a")
    drawing.text(x + 12, 189, f"$C_{i + 1}$", anchor="start")
    drawing.arrow(own.bottom(), area.top())
