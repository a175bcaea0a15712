"""The card of Part II: an encoder, and a decoder that looks at its output."""

from itertools import pairwise

from literate.drawing import Area, Drawing


drawing = Drawing(height=104, width=220)


def layer(x: float, *kinds: str) -> list[Area]:
    """A layer in its frame, a box for each of its sublayers."""
    drawing.group(x, 6, 70, 12 + 26 * len(kinds))
    return [
        drawing.box(x + 10, 15 + 26 * i, 50, 20, "", kind=kind)
        for i, kind in enumerate(kinds)
    ]


encoder = layer(24, "a", "x")
decoder = layer(126, "a", "a", "x")
for one in (encoder, decoder):
    for above, below in pairwise(one):
        drawing.line(
            (above.centre[0], above.y + 20), (below.centre[0], below.y)
        )
memory = drawing.cells(59 - 28, 79, 1, 4, "x")
drawing.line((59, 61), (59, 79))
for kind, share, way in (("k", 0.25, 103), ("v", 0.75, 110)):
    start, end = memory.right(share), decoder[1].left(share)
    drawing.arrow(start, (way, start[1]), (way, end[1]), end, kind=kind)
drawing.text(14, 35, "$N$")
drawing.text(206, 51, "$N$")
