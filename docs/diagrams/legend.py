"""What the colours and shapes of the diagrams mean."""

from literate.drawing import Drawing


KINDS = {
    "q": "查询 | queries",
    "k": "键 | keys",
    "v": "值 | values",
    "x": "其他张量 | other tensors",
}

drawing = Drawing(height=172)
for row, (kind, name) in enumerate(KINDS.items()):
    area = drawing.cells(20, 12 + 40 * row, 2, 3, kind)
    drawing.text(74, area.centre[1], name, anchor="start")
shades = [[0.1, 0.7, 0.2], [0.5, None, 0.5]]
weights = drawing.cells(206, 12, 2, 3, "a", weights=shades)
drawing.text(
    262, 19, "注意力权重，越浓越大 | attention weights", anchor="start"
)
drawing.text(262, 35, "打叉的被掩码挡住 | crossed: masked", anchor="start")
box = drawing.box(200, 54, 54, 24, "$W^Q$")
drawing.text(262, box.centre[1], "运算 | operation", anchor="start")
group = drawing.group(200, 94, 54, 24)
drawing.text(
    262,
    group.centre[1],
    "合在一起的部分 | what belongs together",
    anchor="start",
)
drawing.arrow((204, 146), (250, 146))
drawing.text(262, 146, "数据的流向 | flow of data", anchor="start")
