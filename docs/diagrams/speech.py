"""Speech: wave, spectrogram, two convolutions, encoder, labels with blanks."""

import math

from literate.drawing import CELL, Drawing, same


LEFT = 150  # of the frames
FRAMES = 12
D = 5  # width of the token vectors, as drawn
PATH = ("ai", "ai", "–", "ai", "ou", "–")
NAMES = ("–", "ai", "ou")
MIDDLE = LEFT + FRAMES * CELL / 2

drawing = Drawing(height=604)


def name(y, *lines):
    """What a thing is called, to the left of it."""
    for i, line in enumerate(lines):
        place = (LEFT - 14, y + 16 * (i - (len(lines) - 1) / 2))
        drawing.text(*place, line, anchor="end", small=True)


def size(y, label):
    """What its size is, to the right of it."""
    place = (LEFT + FRAMES * CELL + 14, y)
    drawing.text(*place, label, anchor="start", small=True)


def loudness(frame):
    """Three words: the louder, the nearer to the middle of one."""
    return abs(math.sin(math.pi * (frame + 0.5) / 4)) ** 0.8


def formant(frame, first, last):
    """Glide from one band to another within each word."""
    return first + (last - first) * ((frame + 0.5) % 4) / 4


bands = []
for band in range(6):  # 0 is the highest
    bands.append(
        [
            max(
                0.06,
                0.9
                * loudness(f)
                * max(
                    math.exp(-((band - formant(f, 3.6, 4.8)) ** 2) / 0.6),
                    math.exp(
                        -((band - formant(f, 3.2, 0.8 if f < 8 else 4.6)) ** 2)
                        / 0.6
                    ),
                ),
            )
            for f in range(FRAMES)
        ]
    )

wave = []
for i in range(FRAMES * CELL * 2 + 1):
    x = i / 2
    wave.append(
        (
            LEFT + x,
            28 - 20 * loudness(x / CELL - 0.5) * math.sin(1.15 * x) * 0.95,
        )
    )
drawing.line(*wave)
name(28, "声波 | wave")
size(28, same("8,000 Hz"))

mel = drawing.cells(LEFT, 92, 6, FRAMES, "x", weights=bands)
drawing.arrow((MIDDLE, 54), mel.top())
size(70, "每 10 ms 一帧 | a frame each 10 ms")
name(mel.centre[1], "对数梅尔频谱 | log-mel", "6 个频带 | spectrogram")
size(mel.centre[1], "6 × 12")

first = drawing.box(LEFT, 202, FRAMES * CELL, 25, "卷积 | convolution")
drawing.arrow(mel.bottom(), first.top())
second = drawing.box(
    LEFT, 248, FRAMES * CELL, 25, "卷积，步长 2 | convolution, stride 2"
)
drawing.arrow(first.bottom(), second.top())
size(first.centre[1], "5 × 12")
tokens = [
    drawing.cells(LEFT + CELL * (2 * i + 0.5), 296, D, 1, "x")
    for i in range(6)
]
for token in tokens:
    drawing.arrow((token.centre[0], second.bottom()[1]), token.top())
name(tokens[0].centre[1], "词元 | tokens", "每 20 ms 一个 | one each 20 ms")
size(tokens[0].centre[1], "5 × 6")

encoder = drawing.box(
    LEFT, 392, FRAMES * CELL, 25, "编码器 × $L$ | encoder × $L$"
)
drawing.arrow((MIDDLE, tokens[0].bottom()[1]), encoder.top())
size(encoder.centre[1], "加位置 | with positions")
drawing.arrow((MIDDLE, encoder.bottom()[1]), (MIDDLE, 445))
for row, label in enumerate(NAMES):
    for i, chosen in enumerate(PATH):
        weight = 0.86 if chosen == label else 0.07
        x = LEFT + CELL * (2 * i + 0.5)
        drawing.cells(x, 450 + CELL * row, 1, 1, "x", weights=[[weight]])
    y = 450 + CELL * (row + 0.5)
    drawing.text(LEFT - 4 + CELL / 2, y, same(label), anchor="end", small=True)
drawing.text(
    LEFT - 30,
    471,
    "概率 | probabilities",
    anchor="end",
    small=True,
)
size(471, "3 × 6")
for i, label in enumerate(PATH):
    drawing.text(LEFT + CELL * (2 * i + 1), 514, same(label))
name(514, "最可能的 | most probable")
words = ((0, 1, "ai"), (3, 3, "ai"), (4, 4, "ou"))
for start, end, label in words:
    x0 = LEFT + CELL * (2 * start + 1)
    x1 = LEFT + CELL * (2 * end + 1)
    middle = (x0 + x1) / 2
    if start != end:
        drawing.line((x0, 526), (x0, 532), (x1, 532), (x1, 526))
    drawing.arrow((middle, 532 if start != end else 526), (middle, 562))
    drawing.text(middle, 577, same(label), bold=True)
name(546, "合并重复 | merge repeats,", "去掉空白 | drop blanks")
