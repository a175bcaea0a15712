"""Which of the 6 x 6 scores each of three processes computes, and in which round."""

from literate.drawing import CELL, Drawing


SIZE, TOKENS = 3, 6
EACH = TOKENS // SIZE
TOP = 46
SHADES = (1, 0.55, 0.2)  # rounds 1, 2, 3

drawing = Drawing(height=166)

for left, name, tokens_of in (
    (92, "依次分 | in order", lambda r: range(EACH * r, EACH * (r + 1))),
    (300, "轮流分 | in turn", lambda r: range(r, TOKENS, SIZE)),
):
    drawing.text(left + 51, 12, name, bold=True)
    order = [token for process in range(SIZE) for token in tokens_of(process)]
    for i, query in enumerate(order):
        y = TOP + CELL * i + 9 * (i // EACH)
        drawing.text(
            left - 8, y + 7, str(query + 1), anchor="end", small=True, kind="q"
        )
        x = left + CELL * i + 9 * (i // EACH)
        drawing.text(x + 7, TOP - 10, str(query + 1), small=True, kind="k")
        for j, key in enumerate(order):
            turn = (i // EACH - j // EACH) % SIZE
            x = left + CELL * j + 9 * (j // EACH)
            weight = SHADES[turn] if key <= query else None
            drawing.cells(x, y, 1, 1, "a", weights=[[weight]])
    for process in range(SIZE):
        y = TOP + (EACH * CELL + 9) * process + CELL
        seen = sum(query + 1 for query in tokens_of(process))
        drawing.text(left + 112, y, str(seen), anchor="start", bold=True)
        if left < 200:
            label = f"进程 {process} | process {process}"
            drawing.text(left - 26, y, label, anchor="end", small=True)
