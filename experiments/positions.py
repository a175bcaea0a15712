"""How positions are told, and texts longer than in training.

Models and training are those of the cells of "Positional encoding". Here are
besides them T5's relative bias, and four ways to stretch a rotary model to
four times the length it was trained on.
"""

import copy
import math
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from attention_book.attention.caches import KeyValue
from attention_book.attention.multi_head import MultiHeadAttention
from attention_book.attention.positions import (
    ALiBiAttention,
    LearnedPositions,
    RotaryAttention,
    RotaryEmbedding,
    SinusoidalPositions,
)
from experiments.record import spread
from literate.chapter import defined_in


SEEDS = range(5)
LENGTHS = (32, 64, 128, 512)  # of which training has the first
STRETCHED = LENGTHS[:3]
FACTOR = STRETCHED[-1] // STRETCHED[0]
CHAPTER = "docs/attention/positions.md"
PARTS = (
    "language_model",
    "train",
    "loss_after",
)
KINDS = {
    "none": "没有位置 | none",
    "sinusoidal, large": "正弦，大小 0.71 | sinusoidal, size 0.71",
    "sinusoidal": "正弦，大小 0.2 | sinusoidal, size 0.2",
    "learned": "学出来的 | learned",
    "rotary": "旋转 | rotary",
    "relative bias": "T5 相对偏置 | T5's relative bias",
    "ALiBi": "ALiBi",
}
WAYS = {
    "as it is": "原样 | as it is",
    "interpolation": "内插 | interpolation",
    "larger base": "换大底数 | larger base",
    "by parts": "分段，如 YaRN | by parts, as in YaRN",
}


class RelativeBiasAttention(MultiHeadAttention):
    """T5's attention, here causal.

    Distances of 0 to 7 have a bias each, those of 8 to 23 share seven, and
    all from 24 on the last, so that training sees every one of them.
    """

    def __init__(self, d_model: int, n_heads: int) -> None:
        super().__init__(d_model, n_heads)
        self.bias = nn.Parameter(torch.zeros(n_heads, 16))

    def attend(
        self, query: Tensor, kv: KeyValue, mask: Tensor | None, is_causal: bool
    ) -> Tensor:
        j = torch.arange(query.shape[-2])
        distance = (j[:, None] - j).clamp(min=0)
        large = torch.log(distance.clamp(min=8) / 8) / math.log(24 / 8)
        bucket = torch.where(
            distance < 8, distance, (8 + 8 * large).long().clamp(max=15)
        )
        bias = self.bias[:, bucket].masked_fill(j > j[:, None], -torch.inf)
        return F.scaled_dot_product_attention(query, *kv, bias)


class SmallSinusoids(SinusoidalPositions):
    """Sinusoids of size 0.2, as large as the embeddings."""

    def forward(self, x: Tensor, offset: int | Tensor = 0) -> Tensor:
        return x + 0.2 * 2**0.5 * super().forward(torch.zeros_like(x), offset)


class Stretched(RotaryEmbedding):
    """Rotary positions whose frequencies are given."""

    omega: Tensor  # (pairs,)

    def angles(self, x: Tensor, offset: int | Tensor) -> Tensor:
        positions = torch.arange(x.shape[-2]) + offset
        return positions[:, None] * self.omega


def makers(chapter: dict[str, Any]) -> dict[str, Callable[[], nn.Module]]:
    """What makes the model of each kind."""
    model = chapter["language_model"]
    return {
        "none": model,
        "sinusoidal, large": lambda: model(positions=SinusoidalPositions(64)),
        "sinusoidal": lambda: model(positions=SmallSinusoids(64)),
        "learned": lambda: model(positions=LearnedPositions(LENGTHS[0], 64)),
        "rotary": lambda: model(RotaryAttention),
        "relative bias": lambda: model(RelativeBiasAttention),
        "ALiBi": lambda: model(ALiBiAttention),
    }


def rotary_frequencies(rotary: RotaryEmbedding) -> Tensor:
    """By how many radians each pair turns in a step."""
    return rotary.angles(torch.zeros(2, rotary.d_k), 0)[1]


def stretched(omega: Tensor, way: str) -> Tensor:
    """The frequencies of a rotary model for FACTOR times the length.

    By parts: Peng et al. (2023), §3.2, with alpha 1 and beta 4.
    """
    if way == "as it is":
        return omega
    if way == "interpolation":
        return omega / FACTOR
    if way == "larger base":  # the slowest pair is as with interpolation
        pairs = torch.arange(len(omega)) / (len(omega) - 1)
        return omega * FACTOR**-pairs
    turns = STRETCHED[0] * omega / (2 * math.pi)
    kept = ((turns - 1) / (4 - 1)).clamp(0, 1)
    return kept * omega + (1 - kept) * omega / FACTOR


def shuffled(model: nn.Module, chapter: dict[str, Any]) -> float:
    """By how much shuffling what was read raises the loss of the next.

    Read are 16 characters, of which the last stays where it is; each of the
    texts is shuffled in its own way, the same for all models.
    """
    ends = chapter["ends"]
    generator = torch.Generator().manual_seed(0)
    order = torch.rand(len(ends), 15, generator=generator).argsort(dim=1)
    in_order = torch.arange(-16, 0).expand(len(ends), -1)
    mixed = torch.cat([order - 16, in_order[:, -1:]], dim=1)
    losses = []
    for offsets in (in_order, mixed):
        with torch.no_grad():
            logits = model(chapter["test_data"][ends + offsets])[:, -1]
        following = chapter["test_data"][ends[:, 0]]
        losses.append(F.cross_entropy(logits, following).item())
    return losses[1] - losses[0]


def run(seed: int) -> dict[str, float]:
    chapter = defined_in(CHAPTER, *PARTS)
    train = chapter["train"]
    loss_after = chapter["loss_after"]
    found = {}
    models = {}
    for kind, make in makers(chapter).items():
        torch.manual_seed(seed)
        models[kind] = model = train(make(), seed)
        for length in LENGTHS if kind != "learned" else LENGTHS[:1]:
            found[f"{kind}, {length}"] = loss_after(model, length)
        found[f"{kind}, shuffled"] = shuffled(model, chapter)
    for way in WAYS:
        model = copy.deepcopy(models["rotary"])
        for layer in model:
            if hasattr(layer, "attention"):
                rotary = Stretched(layer.attention.d_k)
                omega = rotary_frequencies(layer.attention.rotary)
                rotary.omega = stretched(omega, way)
                layer.attention.rotary = rotary
        for length in STRETCHED:
            found[f"{way}, {length}"] = loss_after(model, length)
        train(model, seed, n_steps=50, length=STRETCHED[-1], rate=1e-3)
        for length in STRETCHED:
            found[f"{way}, {length}, after"] = loss_after(model, length)
    return found


def tables(results: dict[str, list[float]]) -> dict[str, list[list[str]]]:
    def cells(*keys: str) -> list[str]:
        return [spread(results[k], 2) if k in results else "–" for k in keys]

    losses = [
        ["位置 | positions", "32", "64", "512", "打乱 | shuffled"],
        *(
            [
                title,
                *cells(*(f"{kind}, {length}" for length in (32, 64, 512))),
                *cells(f"{kind}, shuffled"),
            ]
            for kind, title in KINDS.items()
        ),
    ]
    longer = [
        [
            "办法 | method",
            "32",
            "64",
            "128",
            "128，再训练 | 128, trained further",
        ],
        *(
            [
                title,
                *cells(*(f"{way}, {length}" for length in STRETCHED)),
                *cells(f"{way}, {STRETCHED[-1]}, after"),
            ]
            for way, title in WAYS.items()
        ),
    ]
    return {"losses": losses, "stretched": longer}
