"""Beams of two to four on a sentence, and the branches that they drop."""

from literate.drawing import Drawing, same


Place = tuple[int, int]


drawing = Drawing(height=224)
ROOT, COMMA, SELL, MEASURE, NEXT, END = (30, 96, 160, 236, 304, 398)
WIDE = (ROOT, SELL)  # words with dots


def node(x: int, y: int, word: str, about: str, *, kept: bool) -> None:
    drawing.text(x, y, same(word), bold=kept)
    drawing.text(x, y + 16, same(about), small=True)


def branch(start: Place, end: Place, *, kept: bool = True) -> None:
    """A line between two nodes, by a corner where their heights differ."""
    (x, y), (to_x, to_y) = start, end
    corner = to_x - 30
    left, right = (28 if place in WIDE else 19 for place in (x, to_x))
    points = [(x + left, y), (corner, y), (corner, to_y), (to_x - right, to_y)]
    if y == to_y:
        points = [points[0], points[-1]]
    drawing.line(*points, dashed=not kept)


def finish(x: int, y: int, words: str, about: str, *, kept: bool) -> None:
    drawing.line((x + 19, y), (END - 46, y), dashed=not kept)
    drawing.text(END, y, same(words) if words != "<eos>" else words, bold=True)
    drawing.text(END, y + 16, about, small=True)


for x, step in ((COMMA, 11), (SELL, 16), (MEASURE, 17), (NEXT, 18)):
    drawing.text(x, 16, f"第 {step} 步 | step {step}", small=True)
node(ROOT, 100, "……桥", "0.246", kept=True)
branch((ROOT, 100), (COMMA, 100))
node(COMMA, 100, "，", "0.173", kept=True)
branch((COMMA, 100), (SELL, 100))
node(SELL, 100, "……一", "0.087", kept=True)
branch((SELL, 100), (MEASURE, 52))
node(MEASURE, 52, "座", "0.041", kept=True)
branch((MEASURE, 52), (NEXT, 52))
node(NEXT, 52, "漂亮", "0.0174", kept=True)
finish(NEXT, 52, "的石头。", "0.0119，贪心 | 0.0119, greedy", kept=True)
branch((MEASURE, 52), (NEXT, 100), kept=False)
node(NEXT, 100, "桥", "0.0138", kept=False)
finish(NEXT, 100, "。", "0.0138，束宽 3 | 0.0138, beam of 3", kept=False)
branch((SELL, 100), (MEASURE, 148))
node(MEASURE, 148, "块", "0.028", kept=True)
branch((MEASURE, 148), (NEXT, 148))
node(NEXT, 148, "漂亮", "0.0171", kept=True)
finish(NEXT, 148, "的石头。", "0.0123，束宽 2 | 0.0123, beam of 2", kept=True)
branch((ROOT, 100), (COMMA, 196), kept=False)
node(COMMA, 196, "。", "0.068", kept=False)
finish(COMMA, 196, "<eos>", "0.0677，束宽 4 | 0.0677, beam of 4", kept=False)
