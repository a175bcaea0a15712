"""Causal attention by tiles: one tile of queries goes through those of keys."""

from literate.drawing import CELL, Drawing


TILES = 3  # of two tokens each
STEP = 2 * CELL + 7
LEFT, TOP = 100, 64
ROW, COLUMN = 2, 1  # the tile at work

drawing = Drawing(height=222)


def small(x, y, label, anchor="start"):
    drawing.text(x, y, label, anchor=anchor, small=True)


for i in range(TILES):
    y = TOP + STEP * i
    drawing.cells(LEFT - 62, y, 2, 2, "q", pale=i != ROW)
    drawing.cells(LEFT + 150, y, 2, 2, "v", pale=i != ROW)
    x = LEFT + STEP * i
    drawing.cells(x, TOP - 46, 2, 2, "k", pale=i != COLUMN)
    drawing.cells(x, TOP + STEP * TILES + 16, 2, 2, "v", pale=i != COLUMN)
    for j in range(TILES):
        x = LEFT + STEP * j
        if (i, j) == (ROW, COLUMN):
            drawing.cells(x, y, 2, 2, "a")
        elif (i, j) > (ROW, COLUMN):
            drawing.cells(x, y, 2, 2, "o")
        elif i == j:
            drawing.cells(x, y, 2, 2, "a", weights=[[0.2, None], [0.2, 0.2]])
        elif j < i:
            drawing.cells(x, y, 2, 2, "a", weights=[[0.2] * 2] * 2)
drawing.cells(LEFT + 122, TOP + STEP * ROW, 2, 1, "x")
middle = LEFT + STEP * COLUMN + CELL
bottom = TOP + STEP * TILES
y = TOP + STEP * ROW + CELL
drawing.arrow((LEFT - 32, y), (LEFT - 4, y), kind="q")
drawing.arrow((middle, TOP - 14), (middle, TOP - 2), kind="k")
drawing.arrow((middle, bottom + 14), (middle, bottom - 4), kind="v")
drawing.arrow((LEFT + 2 * STEP + 34, y), (LEFT + 118, y), kind="a")

small(LEFT - 72, y, "$Q$", "end")
small(LEFT - 10, TOP - 30, "$K$", "end")
small(LEFT - 10, bottom + 30, "$V$", "end")
small(LEFT + 129, TOP + STEP * ROW - 8, "$m$, $l$", "middle")
small(LEFT + 164, TOP - 12, "$O$", "middle")
small(LEFT + 190, TOP + 6, "浓的在芯片上 | strong: on the chip")
small(LEFT + 190, TOP + 24, "淡的在显存里 | pale: in memory")
small(LEFT + 190, TOP + 48, "淡紫的用过已扔 | violet, pale: used")
small(LEFT + 190, TOP + 66, "空心的下一步算 | outlined: next")
small(LEFT + 190, TOP + 84, "右上的不必算 | upper right: skipped")
