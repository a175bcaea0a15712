"""Greedy decoding: the most probable token is the next input."""

from literate.drawing import Drawing, same


COLUMNS = [45 + 74 * i for i in range(6)]
READ = ("你", "那", "幅", "画", "了", "你")
BEST = [  # of the chapter's model after 250 steps, from the eighth token on
    ("那", "that 0.43"),
    ("幅", "0.97"),
    ("画", "picture 0.53"),
    ("了", "0.99"),
    ("你", "you 0.98"),
    ("。", "0.92"),
]
SECOND = [
    ("的", "0.32"),
    ("画", "0.02"),
    ("在", "0.16"),
    ("你", "0.01"),
    ("我们", "us 0.00"),
    ("那", "0.04"),
]

drawing = Drawing(height=176)
columns = zip(COLUMNS, READ, BEST, SECOND, strict=True)
for step, (x, read, best, second) in enumerate(columns):
    drawing.text(x, 16, same(read))
    box = drawing.box(x - 29, 36, 58, 26, "解码器 | decoder")
    drawing.arrow((x, 26), box.top())
    drawing.arrow(box.bottom(), (x, 84))
    for y, (word, chance), bold in ((94, best, True), (136, second, False)):
        drawing.text(x, y, same(word), bold=bold)
        drawing.text(x, y + 16, same(chance), small=True)
    if step < 5:
        drawing.arrow((x + 17, 94), (x + 37, 94), (x + 37, 16), (x + 55, 16))
