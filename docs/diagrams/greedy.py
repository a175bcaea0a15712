"""Greedy decoding: the most probable token is the next input."""

from literate.drawing import Drawing, same


COLUMNS = [45 + 74 * i for i in range(6)]
READ = ("一", "座", "漂亮", "的", "石头", "。")
BEST = [  # of the kept model of 250 steps, from the 17th token on
    ("座", "0.47"),
    ("漂亮", "pretty 0.42"),
    ("的", "0.99"),
    ("石头", "stone 0.69"),
    ("。", "1.00"),
    ("<eos>", "1.00"),
]
SECOND = [
    ("块", "0.32"),
    ("桥", "bridge 0.34"),
    ("。", "0.01"),
    ("桥", "bridge 0.08"),
    ("，", "0.00"),
    ("？", "0.00"),
]

drawing = Drawing(height=176)
columns = zip(COLUMNS, READ, BEST, SECOND, strict=True)
for step, (x, read, best, second) in enumerate(columns):
    drawing.text(x, 16, same(read))
    box = drawing.box(x - 29, 36, 58, 26, "解码器 | decoder")
    drawing.arrow((x, 26), box.top())
    drawing.arrow(box.bottom(), (x, 84))
    for y, (word, chance), bold in ((94, best, True), (136, second, False)):
        label = word if word == "<eos>" else same(word)
        drawing.text(x, y, label, bold=bold)
        drawing.text(x, y + 16, same(chance), small=True)
    if step < 5:
        drawing.arrow((x + 17, 94), (x + 37, 94), (x + 37, 16), (x + 55, 16))
