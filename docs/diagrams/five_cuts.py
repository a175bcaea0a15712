"""What each way of sharing the work cuts, for two processes: two sentences, two layers."""

from literate.drawing import CELL, Drawing


WIDE = 4  # numbers a token; each sentence has two tokens

drawing = Drawing(height=376)


def shared(x, y, rows, share):
    """A matrix that process 0 has, or 1, or both, or of which each has some rows or columns."""
    first = rows // 2
    if share == "rows":
        drawing.cells(x, y, first, WIDE, "x")
        drawing.cells(x, y + CELL * first, rows - first, WIDE, "x", pale=True)
    elif share == "columns":
        drawing.cells(x, y, rows, WIDE, "x", pale_from=WIDE // 2)
    else:
        kind = "o" if share == "both" else "x"
        drawing.cells(x, y, rows, WIDE, kind, pale=share == 1)


def panel(left, top, name, sentences, matrices, sent):
    drawing.text(left + 68, top + 10, name, bold=True)
    for i in range(2):
        y = top + 26 + 68 * i
        drawing.text(left + 28, y + 6, f"$X_{i + 1}$", small=True)
        shared(left, y + 18, 2, sentences[i])
        drawing.text(left + 68, y + 32, f"$W_{i + 1}$", small=True)
        shared(left + 80, y, WIDE, matrices[i])
    drawing.text(left + 68, top + 168, sent, small=True)


for left, top, *rest in (
    (
        10,
        4,
        "一个进程 | one process",
        (0, 0),
        (0, 0),
        "不用传 | sends nothing",
    ),
    (
        162,
        4,
        "数据 | data",
        (0, 1),
        ("both", "both"),
        "传梯度 | sends gradients",
    ),
    (
        314,
        4,
        "分片 | sharded",
        (0, 1),
        ("rows", "rows"),
        "也传参数 | and parameters",
    ),
    (
        10,
        194,
        "张量 | tensor",
        ("both", "both"),
        ("columns", "rows"),
        "传部分和 | sends partial sums",
    ),
    (
        162,
        194,
        "流水线 | pipeline",
        (0, 0),
        (0, 1),
        "传词元向量 | sends token vectors",
    ),
    (
        314,
        194,
        "环形 | ring",
        ("rows", "rows"),
        ("both", "both"),
        "传键和值 | sends keys, values",
    ),
):
    panel(left, top, *rest)
