"""Digits and other signs drawn as a pen would draw them, to train on.

A sign is a few strokes through points of a grid of 9 by 9, written "xy" with
x to the right and y downwards. A stroke that begins with ~ is a smooth curve,
the others are straight from point to point. No two drawings are alike: each
moves the points, bends, slants, stretches and turns the sign, and has a pen
and a paper of its own.
"""

import math
from functools import cache

import torch
import torch.nn.functional as F
from torch import Tensor


_OVAL = "~40 71 84 77 48 17 04 11 40"

_LOOP9 = "~82 64 34 03 11 40 71 82"

DIGITS = {
    "0": (
        _OVAL,
        "~20 60 82 86 68 28 06 02 20",
        "~51 20 03 17 48 77 84 71 40 20",
        "~70 40 11 04 17 48 77 84 71 50 21",
        f"{_OVAL}, 71 17",
        f"{_OVAL}, 80 08",
        f"{_OVAL}, 43 45",
    ),
    "1": (
        "40 48",
        "22 40 48",
        "13 40 48",
        "04 50 58",
        "~13 32 40, 40 48",
        "22 40 48, 18 78",
        "13 40 48, 08 88",
        "20 40 48, 18 78",
        "~22 31 40, 40 48, 28 68",
        "30 40 48, 38 58",
        "11 40 48, 18 78",
        "22 40 48, 28 68",
    ),
    "2": (
        "~02 20 60 82 64 08, 08 88",
        "~11 30 60 72 54 08, 08 88",
        "~01 40 82 74 08, 08 88",
        "~02 20 60 82 74 37 18 07 26 57 88",
        "~02 20 60 82 64 27 18 16 37 88",
        "~02 20 60 82 64 08, ~08 27 58 87",
        "~02 20 60 82 64 08, 08 88 86",
        "02 20 60 82 83 08 88",
        "~12 30 60 72 63 36 08, 08 88",
        "~00 30 70 83 65 08, 08 88",
    ),
    "3": (
        "~01 20 60 82 63 34, ~34 64 86 67 38 07",
        "~11 30 60 72 63 34, ~34 64 86 67 38 07",
        "~01 40 82 63 34, ~34 74 86 68 28 06",
        "00 80 34, ~34 64 86 67 38 07",
        "10 70 33, ~33 63 75 86 67 38 17 06",
        "~00 50 81 63 24, ~24 64 86 67 38 08",
        "~02 20 60 72 54 34 54 75 77 48 18 06",
        "~00 40 61 52 23, ~23 54 75 76 58 08",
        "00 70 72 34 74 86 68 08",
        "~01 30 70 72 43, ~43 34 43, ~43 84 86 58 07",
    ),
    "4": (
        "10 05 85, 62 68",
        "20 05 85, 53 58",
        "00 04 84, 70 78",
        "10 14 74, 60 68",
        "~10 03 15 45 74, 70 78",
        "~10 04 25 84, ~71 64 58",
        "60 05 85, 60 68",
        "68 60 05 85",
        "50 06 86, 50 58",
        "70 06 86, 70 78",
        "60 05 85, 60 68, 48 88",
        "40 05 85, 63 68",
        "60 04 85, 60 48",
    ),
    "5": (
        "80 10 04, ~04 33 64 86 67 38 07",
        "70 10 03, ~03 42 73 85 77 48 18 07",
        "80 20 14, ~14 43 74 86 67 48 08",
        "10 04, ~04 43 74 86 67 38 07, 10 80",
        "21 14, ~14 43 74 86 67 38 08, 21 71",
        "80 10 03 63 84 86 68 08",
        "~80 30 11 13 44 75 86 67 38 08",
        "70 20 13, ~13 53 85 68 28 06",
        "80 00 03, ~03 33 74 76 58 08",
        "10 03, ~03 33 64 76 58 08, 10 70",
    ),
    "6": (
        "~60 31 04 06 28 58 86 65 34 05",
        "~80 50 21 04 06 28 58 87 85 64 34 05",
        "~81 60 30 11 04 17 48 77 85 74 44 15 05",
        "~50 22 05 17 48 77 85 64 34 06",
        "60 14, ~14 06 28 58 86 64 34 06",
        "~40 02 05 17 48 77 75 54 24 06",
        "~60 13 06 28 58 76 65 45 17",
        "00 06, ~06 28 58 76 65 34 05",
        "~44 75 86 68 48 28 06 15 44, ~06 03 30 60",
        "~71 40 13 06 28 58 76 65 35 16",
    ),
    "7": (
        "00 80 38",
        "00 80 28",
        "00 80 58",
        "00 80 08",
        "10 70 48",
        "00 80 38, 24 74",
        "00 80 38, 34 84",
        "00 80 28, 14 74",
        "00 80, ~80 53 38",
        "00 80, ~80 44 48",
        "02 00 80 38",
        "03 00 80 38, 24 74",
        "02 00 80, ~80 53 48",
        "~02 10 40 60 80, ~80 53 38",
        "~01 20 51 80, 80 38, 34 74",
    ),
    "8": (
        "~40 71 73 44 13 11 40, ~44 75 87 68 28 07 15 44",
        "~40 61 62 44 23 21 40, ~44 75 86 48 06 15 44",
        "~40 71 62 44 22 11 40, ~44 74 86 68 28 06 14 44",
        "~71 40 11 13 44 75 87 48 07 15 44 73 71",
        "~71 50 20 02 24 64 86 58 28 06 24 64 82 71",
        "~60 20 12 34 65 77 58 28 17 35 63 71 60",
        "~80 40 11 23 65 77 48 17 25 63 80",
        "~70 30 02 24 64 86 58 28 06 34 63 80",
        "~40 72 44 12 40, ~44 86 48 06 44",
        "~20 60 72 64 24 12 20, ~24 64 86 68 28 06 24",
        "~40 61 63 44 23 21 40, ~44 66 68 48 28 26 44",
    ),
    "9": (
        f"{_LOOP9}, 82 78",
        f"{_LOOP9}, 82 88",
        f"{_LOOP9}, 82 58",
        f"{_LOOP9}, 82 38",
        f"{_LOOP9}, ~82 76 58",
        f"{_LOOP9}, ~82 85 68 38 07",
        f"{_LOOP9}, ~82 87 68 38 17",
        f"{_LOOP9}, ~82 85 67 28",
        "~81 40 11 03 34 64 82 81, 81 78",
        "~82 62 43 24 02 20 60 82 85 68 28",
        "~40 71 73 44 13 11 40, ~72 75 48",
        "~60 20 02 14 44 62 60, 60 68",
        "~70 20 02 04 35 64 80, 80 78",
    ),
}
DIGITS["9"] += tuple(  # each 6 upside down
    "".join(str(8 - int(c)) if c.isdigit() else c for c in sign)
    for sign in DIGITS["6"]
)

OTHERS = (  # letters that look like no digit, marks and pictures
    "08 40 88, 25 65",
    "~71 40 11 04 17 48 77",
    "80 00 08 88, 04 64",
    "80 00 08, 04 64",
    "00 08, 80 88, 04 84",
    "~60 66 48 18 06",
    "00 08, 80 04 88",
    "00 08 88",
    "08 00 44 80 88",
    "08 00 88 80",
    "08 00, ~00 60 82 64 04",
    "08 00, ~00 60 82 64 04, 44 88",
    "00 80, 40 48",
    "00 06, ~06 28 68 86, 86 80",
    "00 48 80",
    "00 28 42 68 80",
    "00 88, 80 08",
    "00 44 80, 44 48",
    "00 08, ~04 33 74 78",
    "08 02, ~04 23 54 58",
    "~04 84 62 22 04 17 48 77",
    "20 26, ~26 38 58, 03 53",
    "08 03, ~04 22 44, 44 48, ~44 62 84, 84 88",
    "08 03, ~05 33 53",
    f"{_OVAL}, 56 88",
    "~01 30 60 72 54 45, 47 48",
    "40 45, 47 48",
    "30 28, 60 58, 03 83, 05 85",
    "40 48, 04 84",
    "03 83, 05 85",
    "04 84",
    "05 38 80",
    "40 88 08 40",
    "00 80 88 08 00",
    "00 80 88 08 00, 11 71 77 17 11",
    "00 80 88 08 00, 00 88, 80 08",
    "00 80 88 08 00, 40 48, 04 84",
    "~48 02 10 30 42 50 70 82 48",
    "18 40 78 03 83 18",
    f"{_OVAL}, 32 33, 52 53, ~25 46 65",
    f"{_OVAL}, 33 32, 53 52, 26 66",
    "~44 54 55 35 32 62 66 27 11 60 86",
    "~04 22 44 66 84",
    "33 34, 37 38",
    "80 04 88",
    "40 48, 02 86, 82 06",
    "~83 62 24 06 17 38 57 24 12 20 31 33 88",
    "08 04 40 84 88 08",
    "40 48, 13 40 73",
    "04 84, 51 84 57",
    "08 80, ~10 31 12 01 10, ~67 88 69 47 67",
)


@cache
def parse(sign: str) -> tuple[Tensor, Tensor, Tensor]:
    """Return control points (k, 2), weights (m, k) and the pen (m - 1).

    weights times control points are the points of the polylines to draw;
    the pen is 1 where two neighbours are joined by a line.
    """
    points: list[list[float]] = []
    rows: list[Tensor] = []
    pen: list[float] = []
    strokes = [stroke.split() for stroke in sign.split(",")]
    n = sum(len(stroke) for stroke in strokes)
    for stroke in strokes:
        smooth = stroke[0].startswith("~")
        stroke = [point.removeprefix("~") for point in stroke]
        first = len(points)
        points += [[int(x) / 4 - 1, int(y) / 4 - 1] for x, y in stroke]
        k = len(stroke)
        eye = torch.zeros(k, n)
        eye[:, first : first + k] = torch.eye(k)
        new = _spline(eye, stroke[0] == stroke[-1]) if smooth else eye
        pen += [0.0] * bool(rows) + [1.0] * (len(new) - 1)
        rows += new
    return torch.tensor(points), torch.stack(rows), torch.tensor(pen)


def _spline(points: Tensor, closed: bool, n: int = 4) -> Tensor:
    """Return a Catmull-Rom spline through points, n steps for each."""
    before, after = (points[-2], points[1]) if closed else points[[0, -1]]
    p = torch.cat([before[None], points, after[None]])
    t = torch.arange(n)[:, None] / n
    pieces = [
        p[i + 1]
        + t * (p[i + 2] - p[i]) / 2
        + t**2 * (2 * p[i] - 5 * p[i + 1] + 4 * p[i + 2] - p[i + 3]) / 2
        + t**3 * (3 * p[i + 1] - 3 * p[i + 2] + p[i + 3] - p[i]) / 2
        for i in range(len(points) - 1)
    ]
    return torch.cat([*pieces, points[-1:]])


def _uniform(
    generator: torch.Generator, n: int, low: float, high: float
) -> Tensor:
    """Return n numbers (n, 1) between low and high."""
    return low + (high - low) * torch.rand(n, 1, generator=generator)


def _normal(generator: torch.Generator, *size: int) -> Tensor:
    return torch.randn(*size, generator=generator)


def _draw_points(
    sign: str, n: int, g: torch.Generator
) -> tuple[Tensor, Tensor]:
    """Return n drawings of a sign, (n, points, 2), and the pen."""
    control, weights, pen = parse(sign)
    node = ((control + 1) * 4).round().long()
    node = node[:, 0] * 9 + node[:, 1]  # points that meet move together
    moves = _normal(g, n, 81, 2) * _uniform(g, n, 0.01, 0.12)[:, None]
    x = weights @ (control + moves[:, node])
    for _ in range(2):  # bend
        wave = 1.5 * _normal(g, n, 2, 1)
        phase = _uniform(g, n, 0, 2 * math.pi)[:, None]
        x = x + torch.sin(x @ wave + phase) * 0.07 * _normal(g, n, 1, 2)
    x = x + _normal(g, n, x.shape[1], 2) * _uniform(g, n, 0, 0.02)[:, None]
    return x, pen


def _transform(x: Tensor, g: torch.Generator) -> Tensor:
    """Stretch, slant and turn drawings (n, points, 2)."""
    n = len(x)
    stretch = torch.exp(_uniform(g, n, math.log(0.4), math.log(1.05)))
    slant = _uniform(g, n, -0.35, 0.25)
    angle = 0.14 * _normal(g, n, 1)
    across, down = x.unbind(dim=2)
    across = stretch * across + slant * down
    cos = angle.cos()
    sin = angle.sin()
    return torch.stack(
        [cos * across - sin * down, sin * across + cos * down], dim=2
    )


def _render(x: Tensor, pen: Tensor, side: int, g: torch.Generator) -> Tensor:
    """Draw lines (n, points, 2) with a pen: ink (n, side, side), 0 to 1."""
    n = len(x)
    low = x.amin(dim=1)
    high = x.amax(dim=1)
    extent = (high - low).amax(dim=1, keepdim=True).clamp(min=0.1)
    share = _uniform(g, n, 0.5, 0.9)
    width = extent * torch.exp(_uniform(g, n, math.log(0.02), math.log(0.2)))
    scale = share * side / (extent + width)
    room = side - (high - low + width) * scale
    corner = room * torch.rand(n, 2, generator=g)
    x = (x - low[:, None] + width[:, None] / 2) * scale[:, None]
    x = x + corner[:, None]
    # A broad nib: distances are measured after squeezing one direction.
    angle = _uniform(g, n, 0, math.pi)
    squeeze = torch.where(
        _uniform(g, n, 0, 1) < 0.3, _uniform(g, n, 0.3, 1), 1.0
    )
    cos = angle.cos()
    sin = angle.sin()
    turn = torch.stack([cos, -sin, sin, cos], dim=1).view(n, 2, 2)
    turn = turn * torch.cat([squeeze, torch.ones(n, 1)], dim=1)[:, None]
    axis = torch.arange(side) + 0.5
    pixels = torch.cartesian_prod(axis, axis).flip(1) @ turn
    x = x @ turn
    distance = torch.full((n, side * side), math.inf)
    for i in pen.nonzero().flatten().tolist():
        a = x[:, i, None]
        ab = x[:, i + 1, None] - a
        ap = pixels - a
        t = (ap * ab).sum(2) / (ab * ab).sum(2).clamp(min=1e-6)
        off = ap - t.clamp(0, 1)[..., None] * ab
        distance = torch.minimum(distance, off.square().sum(2))
    thick = (width * scale).clamp(min=1.0)
    ink = (thick / 2 - distance.sqrt() + 0.5).clamp(0, 1)
    return ink.view(n, side, side)


def _photograph(ink: Tensor, g: torch.Generator) -> Tensor:
    """Put ink (n, side, side) on papers: greys from 0 to 1."""
    n, side, _ = ink.shape
    jagged = torch.rand(n, 1, 1, generator=g) < 0.3
    ink = torch.where(jagged, (ink > 0.5).float(), ink)
    if torch.rand((), generator=g) < 0.25:
        ink = F.avg_pool2d(ink, 3, stride=1, padding=1)
    axis = torch.linspace(-1, 1, side)
    light = _normal(g, n, 2) * 0.15 * (_uniform(g, n, 0, 1) < 0.3)
    light = (
        light[:, 0, None, None] * axis
        + light[:, 1, None, None] * axis[:, None]
    )
    noise = (
        _normal(g, n, side, side)
        * (0.08 * _uniform(g, n, -1, 1).clamp(min=0))[:, None]
    )
    return 1 - ink * (1 - noise.abs()) + light + noise


def draw(
    sign: str, n: int, generator: torch.Generator, side: int = 48
) -> Tensor:
    """Return n images (n, side, side) of one sign, each in its own way."""
    x, pen = _draw_points(sign, n, generator)
    x = _transform(x, generator)
    return _photograph(_render(x, pen, side, generator), generator)


def draw_two(
    left: str, right: str, n: int, generator: torch.Generator, side: int
) -> Tensor:
    """Return n images of two signs side by side."""
    g = generator
    parts = []
    for sign, shift in ((left, -1.2), (right, 1.2)):
        x, pen = _draw_points(sign, n, g)
        parts.append(
            (x * torch.tensor([0.9, 1.3]) + torch.tensor([shift, 0]), pen)
        )
    (a, pen_a), (b, pen_b) = parts
    pen = torch.cat([pen_a, torch.zeros(1), pen_b])
    x = _transform(torch.cat([a, b], dim=1), g)
    return _photograph(_render(x, pen, side, g), g)


def scribble(n: int, generator: torch.Generator, side: int) -> Tensor:
    """Return n images of a curve without a meaning."""
    k = int(torch.randint(7, 20, (), generator=generator))
    points = torch.rand(n, k, 2, generator=generator) * 2 - 1
    weights = _spline(torch.eye(k), False)
    if torch.rand((), generator=generator) < 0.4:
        weights = torch.eye(k)
    x = _transform(weights @ points, generator)
    pen = torch.ones(len(weights) - 1)
    return _photograph(_render(x, pen, side, generator), generator)


def blobs(n: int, generator: torch.Generator, side: int) -> Tensor:
    """Return n images of something like a landscape or a texture."""
    size = int(torch.randint(3, 14, (), generator=generator))
    x = torch.rand(n, 1, size, size, generator=generator)
    x = F.interpolate(x, (side, side), mode="bicubic")[:, 0]
    return x + 0.03 * _normal(generator, n, side, side)
