"""What each way of sharing the work cuts, for two processes: one batch, two layers."""

from literate.drawing import CELL, Drawing


WIDE = 4  # numbers a token; two sentences of two tokens

drawing = Drawing(height=388)


def shared(x, y, rows, cols, kind, cut):
    """A matrix; cut says where process 1 begins: rows, columns, all of it or nothing."""
    if cut == "columns":
        drawing.cells(x, y, rows, cols, kind, pale_from=cols // 2)
    elif cut == "rows":
        drawing.cells(x, y, rows // 2, cols, kind)
        drawing.cells(
            x, y + CELL * rows // 2, rows // 2, cols, kind, pale=True
        )
    else:
        drawing.cells(x, y, rows, cols, kind, pale=cut == "other")


def panel(left, top, name, sentences, matrices, sent):
    drawing.text(left + 68, top + 10, name, bold=True)
    for y, cut in zip((top + 26, top + 94), sentences, strict=True):
        shared(left, y + 14, 2, WIDE, "x", cut)
    for y, cut in zip((top + 26, top + 94), matrices, strict=True):
        shared(left + 80, y, WIDE, WIDE, "a", cut)
    drawing.text(left + 68, top + 168, sent, small=True)


mine = ("", "")
split = ("", "other")
rows = ("rows", "rows")
for left, top, *rest in (
    (10, 4, "一个进程 | one process", mine, mine, "不用寄 | sends nothing"),
    (162, 4, "数据 | data", split, mine, "寄：梯度 | sends gradients"),
    (314, 4, "分片 | sharded", split, rows, "寄：参数、梯度 | and parameters"),
    (
        10,
        200,
        "张量 | tensor",
        mine,
        ("columns", "rows"),
        "寄：部分和 | sends partial sums",
    ),
    (
        162,
        200,
        "流水线 | pipeline",
        mine,
        split,
        "寄：词元向量 | sends token vectors",
    ),
    (314, 200, "环形 | ring", rows, mine, "寄：键、值 | sends keys, values"),
):
    panel(left, top, *rest)
