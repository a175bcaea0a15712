"""What becomes of a drawing: box, centre of mass, patches, probabilities."""

from itertools import pairwise

from literate.drawing import CELL, Drawing


WIDTH = 0.42  # of the stroke, whose height is 1
SEVEN = [(0.0, 0.0), (WIDTH, 0.0), (0.14, 1.0)]
SIDE = 7 * CELL  # an image of 28 by 28 is 7 patches wide
BOX = SIDE * 20 / 28
PEN = 3.2  # of 28
SHARES = (0.01, 0.01, 0.01, 0.02, 0.01, 0.01, 0.01, 0.9, 0.01, 0.01)
TOP = 30


def place(points, x, y, height):
    return [(x + height * u, y + height * v) for u, v in points]


def distance(point, a, b):
    """From a point to the segment from a to b."""
    (x, y), (u, v) = point, (b[0] - a[0], b[1] - a[1])
    along = ((x - a[0]) * u + (y - a[1]) * v) / (u * u + v * v)
    t = min(max(along, 0), 1)
    return ((x - a[0] - t * u) ** 2 + (y - a[1] - t * v) ** 2) ** 0.5


def ink(patch_row, patch_column, points):
    """The share of a patch's 16 pixels that the stroke covers."""
    covered = 0
    for i in range(16):
        pixel = 4 * patch_column + i % 4 + 0.5, 4 * patch_row + i // 4 + 0.5
        near = min(distance(pixel, a, b) for a, b in pairwise(points))
        covered += near < PEN / 2
    return covered / 16


def centre_of_mass(points):
    lengths = [
        ((a[0] - b[0]) ** 2 + (a[1] - b[1]) ** 2) ** 0.5
        for a, b in pairwise(points)
    ]
    middles = [
        ((a[0] + b[0]) / 2, (a[1] + b[1]) / 2) for a, b in pairwise(points)
    ]
    return [
        sum(
            n * middle[axis]
            for n, middle in zip(lengths, middles, strict=True)
        )
        / sum(lengths)
        for axis in (0, 1)
    ]


drawing = Drawing(height=270)

# Drawn somewhere on the paper.
drawing.text(69, 14, "画的 | as drawn", small=True)
paper = drawing.box(20, TOP, SIDE, SIDE, "")
drawing.line(*place(SEVEN, 70, TOP + 20, 42))
drawing.group(67, TOP + 17, 42 * WIDTH + 6, 48)

# In a box of 20 by 20, with its centre of mass in the middle.
drawing.text(
    230, 14, "28 × 28，重心居中 | 28 × 28, mass in the middle", small=True
)
image = drawing.box(181, TOP, SIDE, SIDE, "")
u, v = centre_of_mass(SEVEN)
x, y = 230 - BOX * u, TOP + SIDE / 2 - BOX * v
drawing.line(*place(SEVEN, x, y, BOX))
drawing.group(x - 3, y - 3, WIDTH * BOX + 6, BOX + 6)
drawing.dot(*image.centre)
drawing.arrow(paper.right(), image.left())

# In patches.
drawing.text(391, 14, "49 块 | 49 patches", small=True)
at = 14 - 20 * u, 14 - 20 * v
stroke = place(SEVEN, *at, 20)
shades = [
    [max(0.05, round(ink(i, j, stroke), 2)) for j in range(7)]
    for i in range(7)
]
patches = drawing.cells(342, TOP, 7, 7, "x", weights=shades)
drawing.arrow(image.right(), patches.left())

# Through the model.
encoder = drawing.box(324, 160, 134, 26, "编码器 × 4 | encoder × 4")
drawing.arrow(patches.bottom(), (391, 157))
mean = drawing.box(180, 160, 100, 26, "平均 | mean")
drawing.arrow(encoder.left(), mean.right())
head = drawing.box(60, 160, 80, 26, "分类头 | head")
drawing.arrow(mean.left(), head.right())
scores = drawing.cells(
    30, 214, 1, 10, "x", weights=[[0.04 + share for share in SHARES]]
)
drawing.arrow(head.bottom(), scores.top())
for digit in range(10):
    drawing.text(30 + CELL * (digit + 0.5), 238, f"{digit}", small=True)
drawing.text(
    100, 256, "十个类别的概率 | probabilities of ten classes", small=True
)
