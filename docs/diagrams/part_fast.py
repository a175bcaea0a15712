"""Part IV: what is slow or too large, a panel for each chapter."""

from literate.drawing import CELL, Area, Drawing, numbered


WIDE = 214
HIGH = 112
TILES = [[0.9 if i == j == 1 else 0.15 for j in range(3)] for i in range(3)]
WINDOW = [
    [1 if j in (0, i - 1, i) else None for j in range(6)] for i in range(6)
]
drawing = Drawing(height=5 * HIGH + 86)


def panel(row: int, column: int, label: str, about: str) -> Area:
    """The frame of a chapter, with a line below its picture."""
    frame = drawing.group(
        6 + 234 * column,
        4 + (HIGH + 20) * row,
        WIDE if row in (1, 2, 3) else 2 * WIDE + 20,
        HIGH,
        label,
    )
    drawing.text(
        frame.x + 10, frame.y + HIGH - 12, about, anchor="start", small=True
    )
    return frame


machine = panel(
    0,
    0,
    numbered("机器 | The machine", "machine"),
    "一步最快能有多快，时间花在算上还是搬上？ | "
    "How fast at best, and is it computing or carrying?",
)
x, y = machine.x + 130, machine.y + 84
drawing.line((x, y - 60), (x, y), (x + 190, y))
drawing.line((x + 4, y - 4), (x + 70, y - 50), (x + 180, y - 50), kind="a")
for dx, dy in ((18, 9), (44, 28), (96, 46), (150, 48)):
    drawing.dot(x + dx, y - dy, "q")

cache = panel(
    1,
    0,
    numbered("缓存 | The cache", "cache"),
    "算过的键和值留着 | keep keys and values",
)
x, y = cache.x + 24, cache.y + 30
for step in range(3):
    for old in range(step + 1):
        place = x + 56 * step + CELL * old
        drawing.cells(place, y + 10, 1, 1, "k", pale=old < step)
        drawing.cells(place, y + 10 + CELL, 1, 1, "v", pale=old < step)

flash = panel(
    1,
    1,
    numbered("小块 | Tiles", "flash"),
    "得分从不整张写下来 | never write all scores",
)
x, y = flash.x + 82, flash.y + 30
drawing.cells(x - 42, y + 6, 3, 2, "q")
drawing.cells(x, y + 6, 3, 3, "a", weights=TILES)
drawing.cells(x + 56, y + 6, 3, 2, "v")

long = panel(
    2,
    0,
    numbered("长序列 | Long sequences", "long"),
    "只看近处和少数几处 | see what is near, and little else",
)
drawing.cells(long.x + 66, long.y + 30, 4, 6, "a", weights=WINDOW[2:])

linear = panel(
    2,
    1,
    numbered("线性 | Linear", "linear"),
    "过去只留一张定长的表 | the past in a table of fixed size",
)
x, y = linear.x + 22, linear.y + 44
for step in range(3):
    state = drawing.cells(x + 66 * step, y, 2, 2, "v")
    if step < 2:
        drawing.arrow(state.right(), (x + 66 * step + 62, state.centre[1]))

generating = panel(
    3,
    0,
    numbered("生成 | Generating", "generating-fast"),
    "先猜几个，再一次验证 | guess some, then check at once",
)
x, y = generating.x + 24, generating.y + 36
for row, length in enumerate((9, 5, 3)):
    drawing.cells(x, y + 16 * row, 1, length, "x")

devices = panel(
    3,
    1,
    numbered("很多台机器 | Many devices", "many-devices"),
    "各算一份，结果不变 | a share each, the same result",
)
x, y = devices.x + 22, devices.y + 42
boxes = [drawing.box(x + 64 * i, y, 40, 26, "$g$") for i in range(3)]
drawing.line(boxes[0].right(), boxes[1].left())
drawing.line(boxes[1].right(), boxes[2].left())

browser = panel(
    4,
    0,
    numbered("浏览器 | The browser", "browser"),
    "没有框架，一个文件和一个循环 | no framework, a file and a loop",
)
x, y = browser.x + 90, browser.y + 34
file = drawing.box(x, y + 4, 50, 36, "8 MB | 8 MB")
layers = drawing.cells(x + 96, y + 8, 2, 5, "x")
drawing.arrow(file.right(), layers.left())
words = drawing.cells(x + 212, y + 15, 1, 4, "q")
drawing.arrow(layers.right(), words.left())
