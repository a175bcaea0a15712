"""Greedy decoding: the most probable token is the next input."""

from literate.drawing import Drawing, same


COLUMNS = [45 + 74 * i for i in range(6)]
READ = ("<bos>", "鲍勃", "追逐", "了", "什么", "？")
BEST = [  # of the chapter's model after 200 steps
    ("鲍勃", "Bob 0.96"),
    ("追逐", "chase 0.22"),
    ("了", "0.51"),
    ("什么", "what 0.23"),
    ("？", "0.76"),
    ("<eos>", "0.99"),
]
SECOND = [
    ("莉莉", "Lily 0.00"),
    ("藏", "hide 0.18"),
    ("？", "0.27"),
    ("彼得", "Peter 0.17"),
    ("吗", "0.21"),
    ("？", "0.00"),
]

drawing = Drawing(height=176)
columns = zip(COLUMNS, READ, BEST, SECOND, strict=True)
for step, (x, read, best, second) in enumerate(columns):
    drawing.text(x, 16, same(read) if step else read)
    box = drawing.box(x - 29, 36, 58, 26, "解码器 | decoder")
    drawing.arrow((x, 26), box.top())
    drawing.arrow(box.bottom(), (x, 84))
    for y, (word, chance), bold in ((94, best, True), (136, second, False)):
        label = same(word) if word != "<eos>" else word
        drawing.text(x, y, label, bold=bold)
        drawing.text(x, y + 16, same(chance), small=True)
    if step < 5:
        drawing.arrow((x + 17, 94), (x + 37, 94), (x + 37, 16), (x + 55, 16))
