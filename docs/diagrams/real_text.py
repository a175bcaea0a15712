"""From the file of pairs to one model that translates both ways."""

from literate.drawing import Drawing, same


drawing = Drawing(height=330)
MIDDLE = 230

file = drawing.box(
    MIDDLE - 95, 8, 190, 26, "29,155 行句对 | 29,155 lines of pairs"
)
parts = []
for x, label in (
    (14, "验证 1,000 | validation 1,000"),
    (165, "训练 27,055 | training 27,055"),
    (316, "测试 1,000 | test 1,000"),
):
    part = drawing.box(x, 84, 130, 26, label)
    drawing.arrow((part.centre[0], 58), part.top())
    parts.append(part)
drawing.line(file.bottom(), (MIDDLE, 58))
drawing.line((parts[0].centre[0], 58), (parts[2].centre[0], 58))
drawing.text(
    MIDDLE + 8,
    46,
    "清洗，按近似的句子分组 | clean, group what is alike",
    anchor="start",
    small=True,
)

rows = (
    (["<2zh>", "I", "love", "you", "."], ["我", "爱", "你", "。"]),
    (["<2en>", "我", "爱", "你", "。"], ["I", "love", "you", "."]),
)
drawing.text(
    MIDDLE + 8,
    126,
    "两个方向，教抄写 | both ways, copies",
    anchor="start",
    small=True,
)
drawing.arrow(parts[1].bottom(), (MIDDLE, 142))
for y, (source, target) in zip((158, 182), rows, strict=True):
    for i, token in enumerate(source):
        drawing.text(30 + 42 * i, y, same(token))
    for i, token in enumerate(target):
        drawing.text(282 + 42 * i, y, same(token))
encoder = drawing.box(39, 214, 150, 44, "编码器，六层 | encoder, 6 layers")
decoder = drawing.box(270, 214, 150, 44, "解码器，两层 | decoder, 2 layers")
drawing.arrow((114, 194), encoder.top())
drawing.arrow(decoder.top(), (345, 194))
drawing.arrow(encoder.right(), decoder.left())
doubt = drawing.box(270, 290, 150, 26, "有没有把握 | sure or not")
drawing.arrow(decoder.bottom(), doubt.top())
