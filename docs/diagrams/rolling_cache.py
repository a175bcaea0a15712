"""A rolling cache of a sink and a window of three, at three steps."""

from literate.drawing import Drawing, same


WORDS = ("Tom", "chases", "Jerry", "round", "the", "house")
WINDOW = 3
LEFT, APART = 94, 64
drawing = Drawing(height=212)


def small(x, y, label, anchor="middle"):
    drawing.text(x, y, label, anchor=anchor, small=True)


small(2, 38, "文中的位置 | place in text", "start")
for t, word in enumerate(WORDS):
    x = LEFT + APART * t + 22
    drawing.text(x, 14, same(word))
    small(x, 38, f"{t}")
for row, step in enumerate((3, 4, 5)):
    y = 58 + 42 * row
    small(2, y + 14, f"读到 {WORDS[step]} | at {WORDS[step]}", "start")
    kept = [0, *range(step - WINDOW + 1, step + 1)]
    for t in range(step + 1):
        x = LEFT + APART * t
        if t in kept:
            drawing.box(x, y, 44, 28, f"{kept.index(t)}", kind="k")
        else:
            drawing.group(x, y, 44, 28)
small(
    230,
    200,
    "Tom 与 house 在文中相距 5，在缓存里相距 3"
    " | Tom and house are 5 apart in the text, 3 in the cache",
)
