"""Tables of two texts, and the blocks of a pool that they name."""

from literate.drawing import Drawing


SIZE = 4
drawing = Drawing(height=196)
drawing.text(40, 14, "表 | tables", bold=True)
drawing.text(330, 14, "内存 | memory", bold=True)

pool = []
for block, (used, kind) in enumerate(
    ((4, "k"), (0, "o"), (4, "q"), (2, "v"), (0, "o"), (1, "q"))
):
    y = 30 + 26 * block
    area = drawing.cells(302, y, 1, SIZE, kind, pale_from=used)
    drawing.text(290, y + 7, str(block), small=True)
    pool.append(area)

for name, top, blocks, kind in (
    ("甲 | A", 34, (0, 2, 5), "q"),
    ("乙 | B", 128, (0, 3), "v"),
):
    drawing.text(18, top + 12, name, bold=True)
    for row, block in enumerate(blocks):
        box = drawing.box(36, top + 22 * row, 30, 20, str(block), kind=kind)
        start = box.right()
        end = (280, pool[block].centre[1])
        drawing.line(start, end, kind=kind)
for y, note in (
    (37, "共用 | shared"),
    (115, "还空两格 | two slots left"),
    (63, "空 | free"),
    (141, "空 | free"),
):
    drawing.text(366, y, note, anchor="start", small=True)
