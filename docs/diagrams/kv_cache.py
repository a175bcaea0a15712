"""A key–value cache, which grows by a token a step."""

from literate.drawing import CELL, Drawing


STEPS = ("<bos>", "汤姆 | 汤姆", "追逐 | 追逐")
drawing = Drawing(height=158)


def small(x, y, label, anchor="middle"):
    drawing.text(x, y, label, anchor=anchor, small=True)


for step, token in enumerate(STEPS):
    x = 84 + 146 * step
    drawing.text(x, 14, token)
    drawing.cells(x - 21, 28, 1, 3, "q")
    small(x + 32, 35, "$q$")
    left = x - 50
    small(left + 21, 54, "$K$")
    small(left + 79, 54, "$V$")
    for kind, offset in (("k", 0), ("v", 58)):
        if step:
            drawing.cells(left + offset, 64, step, 3, kind, pale=True)
        drawing.cells(left + offset, 64 + CELL * step, 1, 3, kind)
    if step < 2:
        drawing.arrow((x + 54, 85), (x + 90, 85))
    small(
        x,
        122,
        ("存 1 个词元 | 1 token", "存 2 个 | 2 tokens", "存 3 个 | 3 tokens")[
            step
        ],
    )
small(
    230,
    144,
    "最下面一行是这一步新算的，上面的从缓存里读"
    " | bottom row: computed now; rows above: read from the cache",
)
