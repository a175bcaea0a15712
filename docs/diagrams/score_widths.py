"""Weights of one query on eight keys: wider and wider, unscaled and scaled."""

from collections.abc import Iterator
from itertools import islice
from math import exp, sqrt

from literate.drawing import Drawing


N_KEYS = 8
SEED = 23
HEIGHT = 84  # of a weight of 1
STEP = 15
drawing = Drawing(height=210)


def draws(state: int) -> Iterator[float]:
    """Numbers of mean 0 and variance 1; docs/assets/live has the same."""
    while True:
        state = (state * 1_664_525 + 1_013_904_223) % 2**32
        yield sqrt(12) * ((state + 0.5) / 2**32 - 0.5)


def scores(d: int) -> list[float]:
    """The dot products of the first d features of a query and the keys."""
    numbers = draws(SEED)
    found = [0.0] * N_KEYS
    for _ in range(d):
        query = next(numbers)
        keys = islice(numbers, N_KEYS)
        found = [s + query * k for s, k in zip(found, keys, strict=True)]
    return found


def panel(left: float, floor: float, row: list[float]) -> None:
    powers = [exp(score - max(row)) for score in row]
    weights = [power / sum(powers) for power in powers]
    drawing.line((left, floor), (left + N_KEYS * STEP, floor))
    for i, weight in enumerate(weights):
        x = left + STEP * (i + 0.5)
        height = max(HEIGHT * weight, 0.5)
        drawing.band((x, floor), (x, floor - height), 11)
    top = weights.index(max(weights))
    y = floor - HEIGHT * weights[top] - 9
    drawing.text(left + STEP * (top + 0.5), y, f"{weights[top]:.3f}")


for column, d in enumerate((4, 64, 1024)):
    left = 72 + 130 * column
    drawing.text(left + N_KEYS * STEP / 2, 14, f"$d_k$ = {d}", bold=True)
    panel(left, 132, scores(d))
    panel(left, 200, [score / sqrt(d) for score in scores(d)])
drawing.text(4, 122, "不缩放 | unscaled", anchor="start", small=True)
drawing.text(4, 190, "÷ $\\sqrt{d_k}$", anchor="start")
