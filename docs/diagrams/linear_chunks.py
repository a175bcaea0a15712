"""Six words in three chunks: scores within a chunk, a state between chunks."""

from literate.drawing import Drawing, same


WORDS = ("Tom", "chases", "Jerry", "round", "the", "house")
KEYS = ("1000", "0100", "1010", "0010", "0010", "0011")
VALUES = ("01", "00", "10", "00", "00", "00")
SCORES = ([[1, None], [0, 1]], [[2, None], [1, 1]], [[1, None], [1, 2]])
OUTPUTS = ([[0, 1], [0, 0]], [[2, 1], [1, 0]], [[1, 0], [1, 0]])
STATES = ([[0, 1], [0, 0], [0, 0], [0, 0]], [[1, 1], [0, 0], [1, 0], [0, 0]])
drawing = Drawing(height=288)


def shades(rows, largest=1):
    return [
        [None if x is None else 0.08 + 0.82 * int(x) / largest for x in row]
        for row in rows
    ]


def small(x, y, label, anchor="middle"):
    drawing.text(x, y, label, anchor=anchor, small=True)


small(4, 116, "块内 | within", "start")
small(4, 166, "输出 | output", "start")
small(4, 236, "状态 | state", "start")
for i in range(3):
    x = 94 + 142 * i
    own = slice(2 * i, 2 * i + 2)
    drawing.text(x, 14, same(" ".join(WORDS[own])))
    small(x - 18, 36, "$K$")
    small(x + 32, 36, "$V$")
    drawing.cells(x - 46, 46, 2, 4, "k", weights=shades(KEYS[own]))
    drawing.cells(x + 18, 46, 2, 2, "v", weights=shades(VALUES[own]))
    drawing.arrow((x, 79), (x, 99))
    drawing.cells(x - 14, 102, 2, 2, "a", weights=shades(SCORES[i], 2))
    drawing.arrow((x, 133), (x, 149))
    drawing.cells(x - 14, 152, 2, 2, "v", weights=shades(OUTPUTS[i], 2))
    if i < 2:
        drawing.arrow((x + 49, 60), (x + 71, 60), (x + 71, 205))
        state = drawing.cells(
            x + 57, 208, 4, 2, "a", weights=shades(STATES[i])
        )
        small(x + 46, 216, "$S$")
        y = state.centre[1]
        drawing.arrow(state.right(), (x + 142, y), (x + 142, 183))
        if i < 1:
            drawing.arrow((x + 142, y), (x + 196, y))
small(
    230,
    274,
    "块内照注意力算，以前的都在 $S$ 里 | attention within a chunk, all before it in $S$",
)
