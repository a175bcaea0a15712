"""The parts of the book, what each leads to, and the chapters in it."""

from literate.chapter import order
from literate.drawing import CELL, Area, Drawing, chapters_of, same


WIDE = 206
HIGH = 140
CAUSAL = [[1.0, None, None], [0.4, 0.6, None], [0.2, 0.3, 0.5]]
# The road that leads straight to language models, as the preface has it.
SHORT = """
attention/pooling attention/scoring attention/by-hand attention/recurrent
attention/multi-head attention/positions attention/scoring-today
transformer/encoder transformer/residuals transformer/decoder transformer/training
transformer/decoding language/language-models language/fine-tuning
fast/cache fast/flash
trust/interpret trust/myths
""".split()
drawing = Drawing(height=488)


def road(folder: str) -> str:
    """The chapters of a part that the short road takes."""
    numbers = [
        number
        for path, number in order().items()
        if path.relative_to("docs").with_suffix("").as_posix() in SHORT
        and path.parent.name == folder
    ]
    if not numbers:
        return "近路不经过 | not on the short road"
    zh, en = "、".join(map(str, numbers)), ", ".join(map(str, numbers))
    return f"近路：{zh} | short road: {en}"


def part(x: float, y: float, name: str, aim: str, folder: str) -> Area:
    """A frame with its name above; aim and chapters stand below its picture."""
    frame = drawing.group(x, y, WIDE, HIGH, name)
    drawing.text(x + 10, y + 88, aim, anchor="start", small=True)
    drawing.text(
        x + 10, y + 106, chapters_of(folder), anchor="start", small=True
    )
    drawing.text(x + 10, y + 124, road(folder), anchor="start", small=True)
    return frame


attention = part(
    8,
    8,
    "第一部 注意力 | I. Attention",
    "从加权平均到多头注意力 | one average, then many heads",
    "attention",
)
x, y = attention.x + 14, attention.y + 30
drawing.cells(x, y, 3, 1, "a", weights=[[0.15], [0.75], [0.1]])
drawing.text(x + 28, y + 21, "×")
values = drawing.cells(x + 42, y, 3, 4, "v")
average = drawing.cells(x + 118, y + 14, 1, 4, "v")
drawing.arrow(values.right(), average.left())

transformer = part(
    246,
    8,
    "第二部 Transformer | II. Transformer",
    "搭起来，训练，翻译 | build, train, translate",
    "transformer",
)
x, y = transformer.x + 12, transformer.y + 34
encoder = drawing.box(x, y, 80, 30, "编码器 | encoder")
decoder = drawing.box(x + 102, y, 80, 30, "解码器 | decoder")
drawing.arrow(encoder.right(), decoder.left())

language = part(
    8,
    174,
    "第三部 语言模型 | III. Language models",
    "BERT、GPT、别人的权重 | BERT, GPT, others' weights",
    "language",
)
x, y = language.x + 30, language.y + 36
tokens = drawing.cells(x, y + 14, 1, 3, "x")
following = drawing.cells(x + 98, y, 3, 3, "a", weights=CAUSAL)
drawing.arrow(tokens.right(), following.left())

fast = part(
    246,
    174,
    "第四部 快与长 | IV. Fast and long",
    "用好一块 GPU，再用很多块 | one GPU, then many",
    "fast",
)
x, y = fast.x + 12, fast.y + 36
one = drawing.box(x, y, 44, 26, same("GPU"))
two = drawing.box(x + 68, y, 44, 26, same("GPU"))
three = drawing.box(x + 136, y, 44, 26, same("GPU"))
drawing.line(one.right(), two.left())
drawing.line(two.right(), three.left())

vision = part(
    8,
    340,
    "第五部 文字之外 | V. Beyond text",
    "图像、语音、图、填空 | images, speech, graphs",
    "beyond",
)
x, y = vision.x + 24, vision.y + 30
image = drawing.cells(x, y + 7, 2, 3, "x")
patches = drawing.cells(x + 66, y + 14, 1, 6, "x")
drawing.arrow(image.right(), patches.left())

trust = part(
    246,
    340,
    "第六部 看懂与信任 | VI. Seeing and trusting",
    "看懂它，检验它 | see into it, test it",
    "trust",
)
x, y = trust.x + 30, trust.y + 30
for row in range(3):
    kind = "o" if row == 1 else "x"
    words = drawing.cells(x, y + CELL * row, 1, 4, kind)
weights = drawing.cells(
    x + 98,
    y,
    3,
    3,
    "a",
    weights=[[0.8, 0.1, 0.1], [0.05, 0.6, 0.35], [0.05, 0.2, 0.75]],
)
drawing.arrow((x + 4 * CELL + 3, weights.centre[1]), weights.left())

drawing.arrow(attention.right(), transformer.left())
drawing.arrow(transformer.bottom(0.15), language.top(0.85))
drawing.arrow(transformer.bottom(), fast.top())
drawing.arrow(language.bottom(), vision.top())
drawing.arrow(fast.bottom(), trust.top())
drawing.arrow(language.bottom(0.85), trust.top(0.15))
