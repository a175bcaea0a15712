"""A beam of two hypotheses, which finds what greedy decoding misses."""

from literate.drawing import Drawing, same


NODES = {  # x, y, token, probability so far with its gloss, kept or not
    "Bob": (112, 96, "鲍勃", "Bob 0.96", True),
    "Lily": (112, 176, "莉莉", "Lily 0.00", True),
    "chase": (204, 56, "追逐", "chase 0.21", True),
    "hide": (204, 136, "藏", "hide 0.17", True),
    "late": (204, 176, "藏", "hide 0.00", False),
    "chased": (296, 56, "了", "0.11", True),
    "stop": (296, 96, "？", "0.06", False),
    "hid": (296, 136, "了", "0.14", True),
}
CHILDREN = {
    "Bob": ("chase", "hide"),
    "Lily": ("late",),
    "chase": ("chased", "stop"),
    "hide": ("hid",),
}

drawing = Drawing(height=208)


def branch(start, end, kept=True):
    """A line from a node to one of the next step."""
    (x, y), (right, low) = start, end
    if y == low:
        drawing.line((x, y), (right, low), dashed=not kept)
    else:
        bend = x + 24
        drawing.line(
            (x, y), (bend, y), (bend, low), (right, low), dashed=not kept
        )


for step, x in enumerate((112, 204, 296), 1):
    drawing.text(x, 16, f"第 {step} 步 | step {step}", small=True)
drawing.text(400, 16, "第 4 到 6 步 | steps 4 to 6", small=True)
drawing.text(30, 96, "<bos>")
for name in ("Bob", "Lily"):
    branch((54, 96), (92, NODES[name][1]))
for name, children in CHILDREN.items():
    x, y, *_ = NODES[name]
    for child in children:
        right, low, _, _, kept = NODES[child]
        branch((x + 20, y), (right - 20, low), kept)
for x, y, word, chance, kept in NODES.values():
    drawing.text(x, y, same(word), bold=kept)
    drawing.text(x, y + 16, same(chance), small=True)
for y, chance in (
    (56, "0.019，贪心 | 0.019, greedy"),
    (136, "0.028，束搜索 | 0.028, the beam"),
):
    branch((316, y), (348, y))
    drawing.text(400, y, same("什么？<eos>"), bold=True)
    drawing.text(400, y + 16, chance, small=True)
