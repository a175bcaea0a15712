"""Byte-pair encoding: the merges, one after the other, on a new word."""

from literate.drawing import Drawing, same


LEFT = 118
STEP = 48  # from one character to the next
ROWS = (
    ("字符 | characters", "s l o w e s t"),
    (same("1. l + o"), "s lo w e s t"),
    (same("2. lo + w"), "s low e s t"),
    (same("3. e + s"), "s low es t"),
    (same("4. es + t"), "s low est"),
)

drawing = Drawing(height=226)

for row, (label, pieces) in enumerate(ROWS):
    y = 10 + 44 * row
    drawing.text(LEFT - 14, y + 13, label, anchor="end", small=True)
    column = 0
    for piece in pieces.split():
        x = LEFT + STEP * column
        drawing.box(x, y, STEP * len(piece) - 8, 26, same(piece))
        column += len(piece)
