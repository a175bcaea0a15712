"""What six tokens leave in the cache, with four kinds of attention."""

from literate.drawing import CELL, Drawing


N = 6  # tokens
HEADS = 4
D_K = 2
drawing = Drawing(height=292)


def panel(left, top, name, count):
    drawing.text(left, top, name, anchor="start", bold=True)
    y = top + 26 + CELL * N + 2
    drawing.text(left, y, count, anchor="start", small=True)


def pairs(left, top, n_kv_heads):
    """Keys and values of some heads, side by side; then a smaller gap."""
    for head in range(n_kv_heads):
        x = left + (4 * CELL + 4) * head
        for kind, offset in (("k", 0), ("v", 2 * CELL)):
            drawing.cells(x + offset, top + 16, N, D_K, kind, pale=head % 2)


panel(20, 14, "多头 | multi-head", "每个词元 16 个数 | 16 numbers a token")
pairs(20, 14, HEADS)
panel(300, 14, "分组查询 | grouped-query", "8 个数 | 8 numbers")
pairs(300, 14, 2)
panel(20, 158, "多查询 | multi-query", "4 个数 | 4 numbers")
pairs(20, 158, 1)
panel(160, 158, "多头潜在 | multi-head latent", "6 个数 | 6 numbers")
latent = drawing.cells(160, 174, N, 4, "x")
rotary = drawing.cells(160 + 4 * CELL + 4, 174, N, 2, "k")
x = rotary.right()[0] + 6
drawing.text(
    x, 190, "灰：潜在向量 $c$ | grey: latent $c$", anchor="start", small=True
)
label = "蓝：旋转过的键 $k^R$ | blue: rotated key $k^R$"
drawing.text(x, 212, label, anchor="start", small=True)
label = "一行一个词元 | a row for each token"
drawing.text(x, 234, label, anchor="start", small=True)
