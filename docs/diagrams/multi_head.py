"""Multi-head attention: project, split into two heads, attend, concatenate."""

from literate.drawing import CELL, Drawing


WEIGHTS = [  # of each head: who chases, and who is chased
    [[0.06, 0.88, 0.06], [0.86, 0.08, 0.06], [0.06, 0.86, 0.08]],
    [[0.88, 0.06, 0.06], [0.06, 0.08, 0.86], [0.08, 0.06, 0.86]],
]
TRACKS = {
    "q": 0.6,
    "k": 0.24,
    "v": 0.42,
}  # where arrows to the other side turn

drawing = Drawing(height=521)

x = drawing.cells(174, 8, 3, 8, "x")
for row, token in enumerate(("汤姆 | Tom", "追逐 | chases", "杰瑞 | Jerry")):
    y = x.y + CELL * (row + 0.5)
    drawing.text(167, y, token, anchor="end", small=True)
drawing.text(294, x.centre[1], "$X$ 3 × 8", anchor="start")

projected = {}
for kind, centre in zip("qkv", (70, 230, 390), strict=True):
    weight = drawing.box(centre - 26, 78, 52, 25, f"$W^{kind.upper()}$")
    drawing.arrow(x.bottom(), weight.top())
    cells = drawing.cells(centre - 56, 120, 3, 8, kind, pale_from=4)
    drawing.arrow(weight.bottom(), cells.top())
    side = -66 if kind == "v" else 66
    drawing.text(centre + side, cells.centre[1], f"${kind.upper()}$")
    projected[kind] = cells

joined = drawing.cells(174, 371, 3, 8, "v", pale_from=4)
for head, left in enumerate((8, 238)):
    place = 0.25 + 0.5 * head  # of its half of the columns
    room = drawing.group(left, 206, 214, 142)
    pale = head == 1
    q = drawing.cells(left + 6, 221, 3, 4, "q", pale=pale)
    k = drawing.cells(left + 75, 214, 4, 3, "k", pale=pale)  # transposed
    v = drawing.cells(left + 152, 221, 3, 4, "v", pale=pale)
    x = k.right()[0] + 1
    drawing.text(x, k.centre[1], "$K^\\top$", anchor="start", small=True)
    for kind, part in zip("qkv", (q, k, v), strict=True):
        start = projected[kind].bottom(place)
        drawing.arrow(start, part.top(), kind=kind, bend=TRACKS[kind])
    drawing.text((q.right()[0] + k.left()[0]) / 2, q.centre[1], "×")
    between = (q.right()[0] + k.left()[0]) / 2
    weights = drawing.cells(
        between - 21, 295, 3, 3, "a", weights=WEIGHTS[head]
    )
    drawing.arrow((between, k.bottom()[1]), weights.top())
    label = "$/ \\sqrt d_k$, softmax"
    drawing.text(between + 9, 283, label, anchor="start", small=True)
    y = weights.centre[1]
    label = f"头 {head + 1} | head {head + 1}"
    drawing.text(left + 206, 336, label, anchor="end", small=True)
    drawing.text(weights.right()[0] + 9, y, "×")
    below = v.bottom()
    drawing.arrow(below, (below[0], y), (weights.right()[0] + 18, y), kind="v")
    drawing.arrow(room.bottom(), joined.top(place))

y = joined.centre[1]
drawing.text(294, y, "拼接 3 × 8 | concatenated 3 × 8", anchor="start")
weight = drawing.box(204, 429, 52, 25, "$W^O$")
drawing.arrow(joined.bottom(), weight.top())
output = drawing.cells(174, 471, 3, 8, "x")
drawing.arrow(weight.bottom(), output.top())
y = output.centre[1]
drawing.text(294, y, "输出 3 × 8 | output 3 × 8", anchor="start")
