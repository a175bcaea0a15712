"""Heads of keys and values: one for each query head, for a group, for all."""

from literate.drawing import Drawing


N_HEADS = 4
drawing = Drawing(height=150)

for left, name, n_kv in (
    (8, "多头 | multi-head", 4),
    (164, "分组查询 | grouped-query", 2),
    (320, "多查询 | multi-query", 1),
):
    middle = left + 66
    drawing.text(middle, 14, name, bold=True)
    places = [left + 12 + 36 * i for i in range(N_HEADS)]
    group = N_HEADS // n_kv
    for j in range(n_kv):
        own = places[j * group : (j + 1) * group]
        x = sum(own) / group
        key = drawing.cells(x - 14, 92, 2, 1, "k")
        value = drawing.cells(x + 2, 92, 2, 1, "v")
        for place in own:
            query = drawing.cells(place - 7, 34, 2, 1, "q")
            drawing.arrow(query.bottom(), (x, key.top()[1]), kind="q")
    drawing.text(middle, 138, f"{n_kv} 对键和值 | {n_kv} × K, V", small=True)
