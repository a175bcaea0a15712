"""Latent attention in two ways: expand keys and values, or absorb both."""

from literate.drawing import CELL, Drawing


N = 6  # tokens
WEIGHTS = [[0.1, 0.15, 0.5, 0.1, 0.75, 0.3]]
drawing = Drawing(height=398)


def small(x, y, label):
    drawing.text(x, y, label, small=True)


def cached(left, name):
    """The latents and the rotated keys of all tokens."""
    drawing.text(left + 65, 12, name, bold=True)
    frame = drawing.group(left, 26, 130, 122, "缓存 | cache")
    latent = drawing.cells(left + 14, 46, N, 4, "x")
    turned = drawing.cells(left + 86, 46, N, 2, "k")
    small(left + 42, 139, "$c$")
    small(left + 100, 139, "$k^R$")
    return frame, latent, turned


# Left: all keys and values of head i are expanded.
frame, latent, turned = cached(6, "展开 | expanded")
up_v = drawing.box(10, 170, 48, 25, "$W_i^{UV}$")
up_k = drawing.box(76, 170, 48, 25, "$W_i^{UK}$")
drawing.arrow((48, 151), up_v.top(), bend=0.4)
drawing.arrow((48, 151), up_k.top(), bend=0.4)
value = drawing.cells(13, 214, N, 3, "v")
key = drawing.cells(79, 214, N, 3, "k")
drawing.arrow(up_v.bottom(), value.top())
drawing.arrow(up_k.bottom(), key.top())
small(34, 308, "$v_i$")
small(100, 308, "$k_i$")
drawing.cells(146, 170, 1, 3, "q")
query = drawing.cells(146 + 3 * CELL, 170, 1, 2, "q", pale=True)
small(167, 160, "$q_i$")
small(202, 160, "$q_i^R$")
weights = drawing.cells(142, 236, 1, N, "a", weights=WEIGHTS)
drawing.arrow((181, query.bottom()[1]), (181, weights.top()[1]), kind="q")
drawing.arrow((124, 243), weights.left(), kind="k")
drawing.arrow(turned.right(), (220, turned.centre[1]), (220, 233), kind="k")
small(200, 264, "$a$")
times = drawing.circle(100, 330, 9, "×")
drawing.arrow((34, 316), (34, 330), times.left(), kind="v")
drawing.arrow((181, weights.bottom()[1]), (181, 330), times.right(), kind="a")
output = drawing.cells(79, 358, 1, 3, "v")
drawing.arrow(times.bottom(), output.top())
small(100, 384, "头 $i$ 的输出 | output of head $i$")

# Right: the query goes to the latents, and the matrices with it.
frame, latent, turned = cached(240, "吸收 | absorbed")
query = drawing.cells(388, 46, 1, 3, "q")
turned_query = drawing.cells(430, 46, 1, 2, "q", pale=True)
small(409, 36, "$q_i$")
small(446, 36, "$q_i^R$")
up_k = drawing.box(381, 78, 56, 25, "$W_i^{UK\\top}$")
drawing.arrow(query.bottom(), up_k.top(), kind="q")
wide = drawing.cells(374, 128, 1, 4, "q")
drawing.arrow((402, 106), wide.top(), kind="q")
turned_wide = drawing.cells(374 + 4 * CELL, 128, 1, 2, "q", pale=True)
drawing.arrow(turned_query.bottom(), turned_wide.top(), kind="q")
weights = drawing.cells(374, 186, 1, N, "a", weights=WEIGHTS)
drawing.arrow((416, wide.bottom()[1]), weights.top(), kind="q")
drawing.arrow((316, 151), (316, 193), weights.left(), kind="k")
small(436, 214, "$a$")
times = drawing.circle(282, 232, 9, "×")
drawing.arrow((282, 151), times.top())
drawing.arrow((416, weights.bottom()[1]), (416, 232), times.right(), kind="a")
summed = drawing.cells(254, 262, 1, 4, "x")
drawing.arrow(times.bottom(), summed.top())
label = "$c$ 的加权和 | weighted sum of $c$"
drawing.text(318, 269, label, anchor="start", small=True)
up_v = drawing.box(258, 300, 48, 25, "$W_i^{UV}$")
drawing.arrow(summed.bottom(), up_v.top())
output = drawing.cells(261, 358, 1, 3, "v")
drawing.arrow(up_v.bottom(), output.top())
small(282, 384, "头 $i$ 的输出 | output of head $i$")
