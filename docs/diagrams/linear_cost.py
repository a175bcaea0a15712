"""Time and memory of linear attention over the length, as benchmarks found."""

import json
from math import log2

from literate import ROOT
from literate.drawing import Drawing


LENGTHS = (1024, 2048, 4096, 8192, 16384, 32768)
D_K = 64
HIGH = 126
KINDS = {
    "SDPA": ("x", "softmax"),
    "decay": ("k", "衰减 | decay"),
    "gated delta": ("q", "门控 delta | gated delta"),
    "one token": ("v", "门控 delta，一个词元 | gated delta, one token"),
}
path = ROOT / "benchmarks/results/linear-cpu.json"
results = json.loads(path.read_text("utf-8"))
times = {
    "SDPA": [1.0] * len(LENGTHS),
    "decay": [results[f"{n} tokens"]["decay"] for n in LENGTHS],
    "gated delta": [results[f"{n} tokens"]["gated delta"] for n in LENGTHS],
    "one token": [
        results[f"{n} tokens"]["one token, gated delta"] for n in LENGTHS
    ],
}
kib = {
    "SDPA": [2 * n * D_K * 4 / 1024 for n in LENGTHS],
    "gated delta": [D_K * D_K * 4 / 1024] * len(LENGTHS),
}
drawing = Drawing(height=236)
for left, title, series, (low, high), marks in (
    (
        44,
        "时间，softmax 为 1 | time, softmax = 1",
        times,
        (1 / 32, 8),
        {1 / 32: "1/32", 1 / 8: "1/8", 1 / 2: "1/2", 2: "2", 8: "8"},
    ),
    (
        280,
        "一个头存的，KiB | kept by a head, KiB",
        kib,
        (8, 32768),
        {16: "16", 256: "256", 4096: "4,096"},
    ),
):
    drawing.text(left + 84, 14, title, bold=True)
    drawing.line((left, 28), (left, 28 + HIGH), (left + 172, 28 + HIGH))
    scale = HIGH / log2(high / low)
    for value, label in marks.items():
        y = 28 + HIGH - scale * log2(value / low)
        drawing.text(left - 5, y, label, anchor="end", small=True)
    for place, n in enumerate(LENGTHS):
        x = left + 12 + 30 * place
        drawing.text(x, 42 + HIGH, f"{n // 1024}k", small=True)
    for name, values in series.items():
        kind = KINDS[name][0]
        points = [
            (left + 12 + 30 * i, 28 + HIGH - scale * log2(value / low))
            for i, value in enumerate(values)
        ]
        drawing.line(*points, kind=kind)
        for point in points:
            drawing.dot(*point, kind)
drawing.text(230, 188, "词元 | tokens", small=True)
for place, (kind, label) in enumerate(KINDS.values()):
    x = (20, 92, 170, 292)[place]
    drawing.dot(x, 214, kind)
    drawing.text(x + 8, 214, label, anchor="start", small=True)
