"""A model with rotary positions, stretched to four times its length.

The models and their training are those of positions.py, at one learning rate.
Each way of stretching changes the frequencies alone, or the temperature too,
and is tried without more training and after a little. As it is, the model shows
what is to be made good.
"""

import copy
import math

import torch
from torch import Tensor

from attention_book.attention.positions import RotaryEmbedding
from experiments.positions import LENGTHS, loss_after, makers, train
from experiments.record import spread


SEEDS = range(3)
STRETCHED = LENGTHS[:3]
FACTOR = STRETCHED[-1] // STRETCHED[0]
WAYS = {
    "as it is": "原样 | as it is",
    "interpolation": "内插 | interpolation",
    "NTK-aware": "换大底数 | larger base (NTK-aware)",
    "NTK-by-parts": "分段 | by parts (NTK-by-parts)",
    "YaRN": "分段加温度，即 YaRN | by parts and temperature (YaRN)",
}


class Stretched(RotaryEmbedding):
    """Rotary positions whose frequencies are given.

    YaRN's temperature multiplies queries and keys, and so scores, by its square.
    """

    omega: Tensor  # (pairs,)
    size = 1.0

    def forward(self, x: Tensor, offset: int | Tensor = 0) -> Tensor:
        return self.size * super().forward(x, offset)

    def angles(self, x: Tensor, offset: int | Tensor) -> Tensor:
        positions = torch.arange(x.shape[-2]) + offset
        return positions[:, None] * self.omega


def rotary_frequencies(rotary: RotaryEmbedding) -> Tensor:
    """By how many radians each pair turns in a step."""
    return rotary.angles(torch.zeros(2, rotary.d_k), 0)[1]


def stretched(omega: Tensor, way: str) -> Tensor:
    """The frequencies of a rotary model for FACTOR times the length.

    A base of base * FACTOR^(d/(d - 2)): NTK-aware. By parts: Peng et al.
    (2023), §3.2, with alpha 1 and beta 4 (for Llama they take 1 and 32).
    """
    if way == "as it is":
        return omega
    if way == "interpolation":
        return omega / FACTOR
    if way == "NTK-aware":  # the slowest pair is as with interpolation
        pairs = torch.arange(len(omega)) / (len(omega) - 1)
        return omega * FACTOR**-pairs
    turns = STRETCHED[0] * omega / (2 * math.pi)
    kept = ((turns - 1) / (4 - 1)).clamp(0, 1)
    return kept * omega + (1 - kept) * omega / FACTOR


def run(seed: int) -> dict[str, float]:
    torch.manual_seed(seed)
    trained = train(makers()["rotary"](), seed)
    found = {}
    for way in WAYS:
        model = copy.deepcopy(trained)
        for layer in model:
            if hasattr(layer, "attention"):
                rotary = Stretched(layer.attention.d_k)
                omega = rotary_frequencies(layer.attention.rotary)
                parts = "NTK-by-parts" if way == "YaRN" else way
                rotary.omega = stretched(omega, parts)
                if way == "YaRN":
                    rotary.size = 0.1 * math.log(FACTOR) + 1
                layer.attention.rotary = rotary
        for length in STRETCHED:
            found[f"{way}, {length}"] = loss_after(model, length)
        train(model, seed, n_steps=50, length=STRETCHED[-1], rate=1e-3)
        found[f"{way}, after"] = loss_after(model, STRETCHED[-1])
    return found


def tables(results: dict[str, list[float]]) -> dict[str, list[list[str]]]:
    head = [
        "办法 | method",
        *(f"{length}" for length in STRETCHED),
        "128，再训练 | 128, trained further",
    ]
    rows = []
    for way, title in WAYS.items():
        keys = [f"{way}, {length}" for length in STRETCHED]
        cells = [spread(results[key], 2) for key in (*keys, f"{way}, after")]
        rows.append([title, *cells])
    return {"stretched": [head, *rows]}
