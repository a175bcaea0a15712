"""From two sentences to a batch, and from a translation to input and labels."""

from literate.drawing import Drawing


COLUMNS = [126 + 58 * i for i in range(6)]  # the middle of each
MIDDLE = (COLUMNS[2] + COLUMNS[3]) / 2
SENTENCES = ["Tom chases Jerry.", "who bought my red key?"]
TOKENS = ["Tom chases Jerry .", "who bought my red key ?"]
IDS = [[6, 8, 5, 3, 0, 0], [12, 7, 10, 11, 9, 4]]
CHINESE = ["汤姆 | 汤姆", "追逐 | 追逐", "杰瑞 | 杰瑞", "。 | 。"]

drawing = Drawing(height=478)


def name(y, label):
    """Write the name of what stands beside it."""
    drawing.text(84, y, label, anchor="end", small=True)


def row(y, texts):
    """Write a text into each column."""
    for x, text in zip(COLUMNS, texts, strict=False):
        drawing.text(x, y, str(text))


def operation(y, label):
    """Draw a box in the middle."""
    return drawing.box(MIDDLE - 55, y, 110, 24, label)


name(27, "句子 | sentences")
for y, sentence in zip((18, 36), SENTENCES, strict=True):
    drawing.text(MIDDLE, y, sentence)
tokenize = operation(62, "切分 | tokenize")
drawing.arrow((MIDDLE, 44), tokenize.top())

name(120, "词元 | tokens")
for y, tokens in zip((111, 129), TOKENS, strict=True):
    row(y, tokens.split())
drawing.arrow(tokenize.bottom(), (MIDDLE, 103))
vocabulary = operation(155, "词表 | vocabulary")
drawing.arrow((MIDDLE, 137), vocabulary.top())

batch = drawing.group(8, 197, 444, 96, "批量 2 × 6 | batch, 2 × 6")
at = (MIDDLE - 8) / 444
drawing.arrow(vocabulary.bottom(), batch.top(at))
name(237, "编号 | token ids")
name(275, "掩码 | mask")
for line, ids in enumerate(IDS):
    row(228 + 18 * line, ids)
    for x, token_id in zip(COLUMNS, ids, strict=True):
        real = [[1 if token_id else None]]
        drawing.cells(x - 7, 260 + 15 * line, 1, 1, "x", weights=real)

encoder = operation(313, "编码器 | encoder")
drawing.arrow(batch.bottom(at), encoder.top())

name(373, "输入 | input")
row(373, ["<bos>", *CHINESE])
decoder = drawing.box(COLUMNS[0] - 28, 396, 288, 24, "解码器 | decoder")
name(443, "标签 | labels")
row(443, [*CHINESE, "<eos>"])
name(463, "意思 | meaning")
row(463, TOKENS[0].split())
for x in COLUMNS[:-1]:
    drawing.arrow((x, 381), (x, decoder.top()[1]))
    drawing.arrow((x, decoder.bottom()[1]), (x, 434))
right, y = decoder.right()
corner = COLUMNS[-1]
drawing.arrow(
    encoder.right(), (corner, encoder.right()[1]), (corner, y), (right, y)
)
