"""Weights in a file, and where they stand here: joined, transposed, reordered."""

from literate.drawing import CELL, Drawing, same


LEFT = 12
RIGHT = 334  # where the book's side begins
TRANSPOSED = "转置 | transposed"

drawing = Drawing(height=634)


def heading(y, label):
    """Say of which model the rows below are, and which side is which."""
    drawing.text(LEFT, y, label, anchor="start", bold=True)
    drawing.text(RIGHT, y, "书里 | the book", anchor="start", bold=True)


# Three matrices in one, each transposed
heading(12, "GPT-2 的文件 | GPT-2's file")
top = 34
query = drawing.cells(RIGHT, top, 4, 4, "q")
key = drawing.cells(RIGHT, top + 76, 4, 4, "k")
value = drawing.cells(RIGHT, top + 76 + 4 * CELL, 4, 4, "v")
drawing.text(
    RIGHT + 62, query.centre[1], same("q_proj"), anchor="start", small=True
)
drawing.text(RIGHT + 62, value.y, same("kv_proj"), anchor="start", small=True)
joined = top + 76 + 8 * CELL + 8
for i, (place, kind) in enumerate(((query, "q"), (key, "k"), (value, "v"))):
    part = drawing.cells(LEFT + 4 * CELL * i, joined, 4, 4, kind)
    start = part.top()
    level = place.centre[1]
    drawing.arrow(start, (start[0], level), place.left(), kind=kind)
    drawing.text(258, level - 9, TRANSPOSED, small=True)
drawing.text(
    LEFT + 178,
    joined + 2 * CELL,
    same("h.0.attn.c_attn.weight"),
    anchor="start",
    small=True,
)

# One to one
y = joined + 4 * CELL + 26
for theirs, ours, mark in (
    ("attn.c_proj (4 × 4)", "out_proj (4 × 4)", TRANSPOSED),
    ("mlp.c_fc (4 × 16)", "up_proj (16 × 4)", TRANSPOSED),
    ("mlp.c_proj (16 × 4)", "down_proj (4 × 16)", TRANSPOSED),
    ("ln_1 (4)", "norm 1 (4)", ""),
    ("ln_2 (4)", "norm 2 (4)", ""),
):
    drawing.text(LEFT, y, same(theirs), anchor="start", small=True)
    drawing.text(RIGHT, y, same(ours), anchor="start", small=True)
    drawing.arrow((158, y), (RIGHT - 6, y))
    if mark:
        drawing.text(248, y - 9, mark, small=True)
    y += 27

# Rows in another order
y += 10
heading(y, "Marian 的词表 | Marian's vocabulary")
y += 20
rows = ["</s>", "_a", "_b", "_c", "<pad>"]
places = [2, 3, 4, 5, 1]
ours = ["<pad>", "<bos>", "<eos>", "_a", "_b", "_c"]
STEP = 21
cells = []
for i, name in enumerate(ours):
    kind = "x" if i else "o"
    cells.append(drawing.cells(RIGHT, y + STEP * i, 1, 4, kind))
    drawing.text(
        RIGHT + 62,
        y + STEP * i + 7,
        same(f"{i} {name}"),
        anchor="start",
        small=True,
    )
for i, (name, place) in enumerate(zip(rows, places, strict=True)):
    row = drawing.cells(LEFT + 62, y + STEP * i, 1, 4, "x")
    drawing.text(
        LEFT, y + STEP * i + 7, same(f"{i} {name}"), anchor="start", small=True
    )
    drawing.line(row.right(), cells[place].left())
drawing.text(RIGHT + 28, y + STEP * 6 + 6, "0 是新的 | 0 is new", small=True)
