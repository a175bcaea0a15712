"""A cache that grows by a row a word, and a state of four by two that does not."""

from literate.drawing import CELL, Drawing, same


KEYS = ("1000", "0100", "1010", "0010", "0010", "0011")
VALUES = ("01", "00", "10", "00", "00", "00")
WORDS = ("Tom", "chases", "Jerry", "round", "the", "house")
drawing = Drawing(height=304)


def shades(rows):
    return [[0.9 if bit == "1" else 0.08 for bit in row] for row in rows]


def small(x, y, label, anchor="middle", kind=""):
    drawing.text(x, y, label, anchor=anchor, small=True, kind=kind)


def state_after(n):
    """How large each number of the state is: a sum of outer products."""
    pairs = [*zip(KEYS[:n], VALUES[:n], strict=True)]
    return [
        [
            0.9 if any(k[i] == v[j] == "1" for k, v in pairs) else 0.08
            for j in (0, 1)
        ]
        for i in range(4)
    ]


small(6, 82, "缓存 | cache", "start")
small(6, 224, "状态 | state", "start")
for step, n in enumerate((1, 3, 6)):
    x = 134 + 124 * step
    drawing.text(x, 14, same(WORDS[n - 1]))
    small(x - 18, 34, "$K$")
    small(x + 32, 34, "$V$")
    drawing.cells(x - 46, 44, n, 4, "k", weights=shades(KEYS[:n]))
    drawing.cells(x + 18, 44, n, 2, "v", weights=shades(VALUES[:n]))
    small(x, 146, f"{6 * n} 个数 | {6 * n} numbers")
    top = 196
    drawing.cells(
        x - 34,
        top,
        4,
        1,
        "k",
        weights=[[shade] for shade in shades([KEYS[n - 1]])[0]],
    )
    drawing.cells(x - 10, top - 22, 1, 2, "v", weights=shades([VALUES[n - 1]]))
    state = drawing.cells(x - 10, top, 4, 2, "a", weights=state_after(n))
    small(x - 27, top - 15, "$k$")
    small(x + 30, top - 15, "$v$")
    small(x + 30, top + 2 * CELL, "$S$")
    small(x, 270, "8 个数 | 8 numbers")
    if step < 2:
        y = state.centre[1]
        drawing.arrow((x + 42, y), (x + 80, y))
small(
    230,
    290,
    "每读一个词，外积 $k v^\\top$ 加进 $S$ | each word adds its outer product $k v^\\top$ to $S$",
)
