"""Post-norm and pre-norm, side by side: where the normalisation stands."""

from literate.drawing import Drawing


SUBLAYERS = ("自注意力 | self-attention", "前馈网络 | feed-forward")
NORM = "层归一化 | LayerNorm"

drawing = Drawing(height=448)


def column(left, title, formula, pre):
    """A layer of two sublayers, and the path that goes around them."""
    middle = left + 128
    drawing.text(left + 106, 18, title, bold=True)
    drawing.text(left + 106, 40, formula)
    end = drawing.cells(middle - 28, 60, 1, 4, "x")
    for i, sublayer in enumerate(SUBLAYERS):
        top = 92 + 156 * i
        names = (NORM, sublayer) if pre else (sublayer, NORM)
        first = drawing.box(middle - 62, top + 8, 124, 25, names[0])
        drawing.arrow(end.bottom(), first.top())
        y = top + (106 if pre else 60)
        plus = drawing.circle(middle, y, 10, "+")
        second = drawing.box(
            middle - 62, top + (54 if pre else 92), 124, 25, names[1]
        )
        around = ((middle, top - 8), (left + 20, top - 8), (left + 20, y))
        drawing.arrow(*around, plus.left())
        if pre:
            drawing.arrow(first.bottom(), second.top())
            drawing.arrow(second.bottom(), plus.top())
            end = plus
        else:
            drawing.arrow(first.bottom(), plus.top())
            drawing.arrow(plus.bottom(), second.top())
            end = second
    return end, middle


for left, title, formula, pre in (
    (8, "后置归一化 | post-norm", "LayerNorm$(x + f(x))$", False),
    (240, "前置归一化 | pre-norm", "$x + f($LayerNorm$(x))$", True),
):
    end, middle = column(left, title, formula, pre)
    output = drawing.cells(middle - 28, 410, 1, 4, "x")
    drawing.arrow(end.bottom(), output.top())
