"""Recall over the size of the state, from the record of the experiment."""

from statistics import fmean

from literate.drawing import Drawing
from literate.records import load


WIDTHS = (8, 16, 32)
KINDS = {
    "additive": ("x", "加法 | add"),
    "decay": ("k", "衰减 | decay"),
    "delta": ("v", "delta 规则 | delta rule"),
    "gated delta": ("q", "门控 delta | gated delta"),
}
HIGH = 120
results = load("recall")["results"]
drawing = Drawing(height=232)

for left, task, title in (
    (40, "32 keys", "32 个键，各写一次 | 32 keys, once"),
    (270, "8 keys, 4 times", "8 个键，各写四次 | 8 keys, 4 times"),
):
    drawing.text(left + 85, 14, title, bold=True)
    drawing.line((left, 30), (left, 30 + HIGH), (left + 175, 30 + HIGH))
    for share in (0, 50, 100):
        y = 30 + HIGH * (1 - share / 100)
        drawing.text(left - 5, y, f"{share}%", anchor="end", small=True)
    for step, width in enumerate(WIDTHS):
        x = left + 26 + 62 * step
        drawing.text(x, 44 + HIGH, f"{width} × 48", small=True)
    for place, (rule, (kind, _)) in enumerate(KINDS.items()):
        points = []
        for step, width in enumerate(WIDTHS):
            values = results[f"{rule}, {width}: {task}"]
            x = left + 26 + 62 * step + 5 * (place - 1.5)
            points.append((x, 30 + HIGH * (1 - fmean(values))))
            ends = [(x, 30 + HIGH * (1 - f(values))) for f in (min, max)]
            drawing.line(*ends, kind=kind)
            drawing.dot(*points[-1], kind)
        drawing.line(*points, kind=kind, dashed=True)
drawing.text(230, 186, "一层的状态 | state of a layer", small=True)
for place, (kind, label) in enumerate(KINDS.values()):
    x = 30 + 108 * place
    drawing.dot(x, 210, kind)
    drawing.text(x + 8, 210, label, anchor="start", small=True)
