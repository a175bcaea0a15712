"""Part IV: what is slow or too large, a panel for each chapter."""

from literate.drawing import CELL, Area, Drawing, numbered


WIDE = 214
HIGH = 118
TILES = [[0.9 if i == j == 1 else 0.15 for j in range(3)] for i in range(3)]
drawing = Drawing(height=3 * HIGH + 52)


def panel(number: int, label: str, about: str) -> Area:
    """The frame of a chapter, in two columns, with a line below its picture."""
    x = 6 + 234 * (number % 2)
    y = 4 + (HIGH + 22) * (number // 2)
    frame = drawing.group(x, y, WIDE, HIGH, label)
    drawing.text(x + 10, y + HIGH - 14, about, anchor="start", small=True)
    return frame


machine = panel(
    0,
    numbered("机器 | The machine", "machine"),
    "算得快，还是搬得快？ | Computing or moving?",
)
x, y = machine.x + 24, machine.y + 84
drawing.line((x, y - 54), (x, y), (x + 160, y))
drawing.line((x + 4, y - 4), (x + 60, y - 44), (x + 150, y - 44), kind="a")
for dx, dy in ((18, 10), (40, 26), (84, 40), (124, 41)):
    drawing.dot(x + dx, y - dy, "q")

cache = panel(
    1,
    numbered("缓存 | The cache", "cache"),
    "算过的键和值留着 | keep keys and values",
)
x, y = cache.x + 24, cache.y + 32
for step in range(3):
    for old in range(step + 1):
        place = x + 56 * step + CELL * old
        drawing.cells(place, y + 10, 1, 1, "k", pale=old < step)
        drawing.cells(place, y + 10 + CELL, 1, 1, "v", pale=old < step)

flash = panel(
    2,
    numbered("小块 | Tiles", "flash"),
    "得分从不整张写下来 | never write all scores",
)
x, y = flash.x + 66, flash.y + 28
drawing.cells(x - 42, y + 6, 3, 2, "q")
tiles = drawing.cells(x, y + 6, 3, 3, "a", weights=TILES)
drawing.cells(x + 56, y + 6, 3, 2, "v")

generating = panel(
    3,
    numbered("生成 | Generating", "generating-fast"),
    "每一步少做一点 | less work in each step",
)
x, y = generating.x + 24, generating.y + 32
for row, length in enumerate((9, 5, 3)):
    drawing.cells(x, y + 16 * row, 1, length, "x")

devices = panel(
    4,
    numbered("很多台机器 | Many devices", "many-devices"),
    "各算一份，再平均 | a share each, then the mean",
)
x, y = devices.x + 22, devices.y + 44
boxes = [drawing.box(x + 64 * i, y, 40, 26, "$g$") for i in range(3)]
drawing.line(boxes[0].right(), boxes[1].left())
drawing.line(boxes[1].right(), boxes[2].left())
