"""A beam of two on the end of a sentence, and the branch that it drops."""

from literate.drawing import Drawing, same


drawing = Drawing(height=216)
ROWS = {  # height, the nodes of steps 8 to 10, the end, kept by a beam of 2
    56: (
        [("那", "that 0.36"), ("幅", "0.35"), ("画", "picture 0.18")],
        ("了你。<eos>", "0.165，贪心 | 0.165, greedy"),
        True,
    ),
    120: (
        [("的", "0.27"), ("画", "picture 0.24"), ("。", "0.18")],
        ("<eos>", "0.177，束宽 2 | 0.177, a beam of 2"),
        True,
    ),
    184: (
        [("。", "0.20")],
        ("<eos>", "0.197，束宽 3 | 0.197, a beam of 3"),
        False,
    ),
}
COLUMNS = (132, 206, 280)
END = 386

for x, step in zip(COLUMNS, (8, 9, 10), strict=True):
    drawing.text(x, 16, f"第 {step} 步 | step {step}", small=True)
drawing.text(40, 120, same("……了你"))
drawing.text(40, 136, same("you 0.83"), small=True)
for y, (nodes, (end, chance), kept) in ROWS.items():
    start = (72, 120)
    if y == start[1]:
        drawing.line(start, (COLUMNS[0] - 18, y))
    else:
        drawing.line(
            start, (90, 120), (90, y), (COLUMNS[0] - 18, y), dashed=not kept
        )
    x = COLUMNS[0]
    for i, (word, probability) in enumerate(nodes):
        x = COLUMNS[i]
        if i:
            drawing.line((COLUMNS[i - 1] + 18, y), (x - 18, y))
        drawing.text(x, y, same(word), bold=kept)
        drawing.text(x, y + 16, same(probability), small=True)
    drawing.line((x + 18, y), (END - 48, y), dashed=not kept)
    label = same(end) if end != "<eos>" else end
    drawing.text(END, y, label, bold=True)
    drawing.text(END, y + 16, chance, small=True)
