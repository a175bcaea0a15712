"""One context vector for all target words, or one for each."""

from itertools import pairwise

from literate.drawing import CELL, Drawing, same


SOURCE = ("Tom", "chases", "Jerry")
READ = (same("<bos>"), same("汤姆"), same("追逐"))
WRITTEN = (same("汤姆"), same("追逐"), same("杰瑞"))
WEIGHTS = ([0.9, 0.15, 0.1], [0.15, 0.85, 0.15], [0.1, 0.15, 0.9])

drawing = Drawing(height=366)


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
    places = [left + 40, left + 106, left + 172]
    drawing.text(left + 106, 14, name, bold=True)
    encoder, decoder = [], []
    for i, x in enumerate(places):
        drawing.text(x, 40, SOURCE[i])
        encoder.append(column(x, 52, kind))
        decoder.append(column(x, 280, "q" if kind == "k" else "x"))
        drawing.text(x, 351, READ[i])
        drawing.arrow((x, 341), decoder[i].bottom())
        drawing.text(x, 252, WRITTEN[i], bold=True)
        drawing.arrow(decoder[i].top(), (x, 262))
    recurrence(encoder, both=True)
    recurrence(decoder, both=False)
    x = places[2] + 12
    drawing.text(x, encoder[2].centre[1], "$h_j$", anchor="start")
    drawing.text(x, decoder[2].centre[1], "$s_i$", anchor="start")
    return places, encoder, decoder


places, encoder, decoder = panel(8, "固定的 $C$ | one fixed $C$", "x")
context = column(places[1], 150, "x")
drawing.text(places[1] + 14, 171, "$C$", anchor="start")
for area in (encoder[0], encoder[2]):
    drawing.arrow(area.bottom(), context.top(), bend=0.6)
for x in places:
    drawing.arrow(context.bottom(), (x, 242))
y = context.centre[1]
start = decoder[0].left()
turn = places[0] - 28
drawing.arrow(context.left(), (turn, y), (turn, start[1]), start)

places, encoder, decoder = panel(
    240, "每个词一个 $C_i$ | a $C_i$ for each word", "k"
)
for i, (x, area) in enumerate(zip(places, decoder, strict=True)):
    shares = drawing.cells(
        x - 1.5 * CELL, 128, 1, 3, "a", weights=[WEIGHTS[i]]
    )
    for state in encoder:
        drawing.arrow(state.bottom(), shares.top(), kind="k", bend=0.5)
    own = column(x, 164, "x")
    drawing.arrow(shares.bottom(), own.top(), kind="a")
    drawing.text(x + 12, 185, f"$C_{i + 1}$", anchor="start")
    drawing.arrow(own.bottom(), (x, 242))
    start, end = area.left(at=0.2), shares.left()
    turn = x - 28
    drawing.arrow(start, (turn, start[1]), (turn, end[1]), end, kind="q")
