"""Deep encoders: what becomes of the tokens, of the gradient, and of training.

Fresh stacks are measured first. Then encoders learn to sort twelve
numbers, post-norm and pre-norm, with and without warm-up, alike otherwise.
"""

from collections.abc import Callable
from itertools import pairwise
from math import comb
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from attention_book.attention.multi_head import MultiHeadAttention
from attention_book.attention.positions import SinusoidalPositions
from attention_book.models.encoder import Encoder, EncoderLayer
from experiments.record import percent, spread


SEEDS = range(5)
NORMS = ("post", "pre")
WARM_UPS = (0, 100)
RATES = (0.0003, 0.001, 0.003)
N_VALUES = 16
LENGTH = 12
D_MODEL = 64

STACKS = {
    "alone": "只有注意力 | attention alone",
    "residual": "加上残差连接 | with residual connections",
    "scaled": "残差，子层输出除以 $\\sqrt{L}$ | residual, outputs over $\\sqrt{L}$",
    "post": "编码器层，后置归一化 | encoder layers, post-norm",
    "pre": "编码器层，前置归一化 | encoder layers, pre-norm",
}
DRAWS = {
    "default, 12": "默认初值，12 层 | default, 12 layers",
    "Xavier, 12": "Xavier，12 层 | Xavier, 12 layers",
    "Xavier, 48": "Xavier，48 层 | Xavier, 48 layers",
}
BLIND = "只知道位置，不看数 | knows positions, not numbers"
ROWS = {
    "post, 0": "后置归一化，不预热 | post-norm, no warm-up",
    "post, 100": "后置归一化，预热 | post-norm, warm-up",
    "pre, 0": "前置归一化，不预热 | pre-norm, no warm-up",
    "pre, 100": "前置归一化，预热 | pre-norm, warm-up",
}


def xavier(module: nn.Module) -> None:
    for parameter in module.parameters():
        if parameter.ndim == 2:  # a matrix
            nn.init.xavier_uniform_(parameter)


def make_layer(norm: Any) -> EncoderLayer:
    return EncoderLayer(D_MODEL, 4, 2 * D_MODEL, norm=norm)


def make_encoder(norm: Any, n_layers: int, draw: str = "Xavier") -> Encoder:
    layers = [make_layer(norm) for _ in range(n_layers)]
    final_norm = nn.LayerNorm(D_MODEL) if norm == "pre" else None
    encoder = Encoder(layers, final_norm)
    if draw == "Xavier":
        xavier(encoder)
    return encoder


def similarity(x: Tensor) -> float:
    """The mean cosine of the angle between two tokens of a sentence."""
    unit = F.normalize(x, dim=-1)
    others = unit.sum(dim=1, keepdim=True) - unit
    return ((unit * others).sum(dim=-1) / (x.shape[1] - 1)).mean().item()


def collapse(stack: str, draw: str, n_layers: int) -> float:
    """How alike six random tokens are after the layers."""

    def around(
        f: Callable[[Tensor], Tensor],
    ) -> Callable[[Tensor], Tensor]:
        if stack == "alone":
            return f
        if stack == "residual":
            return lambda x: x + f(x)
        return lambda x: x + f(x) / n_layers**0.5

    x = torch.randn(8, 6, D_MODEL)
    for _ in range(n_layers):
        layer: nn.Module
        if stack in NORMS:
            layer = make_layer(stack)
        else:
            layer = MultiHeadAttention(D_MODEL, 4, bias=False)
        if draw == "Xavier":
            xavier(layer)
        with torch.no_grad():
            x = layer(x) if stack in NORMS else around(layer)(x)
    return similarity(x)


def last_gradient(norm: Any, n_layers: int) -> float:
    """Norm of the gradient of the last layer's W_2, when nothing is learnt."""
    encoder = make_encoder(norm, n_layers)
    x, target = torch.randn(2, 16, 10, D_MODEL)  # two of (16, 10, d_model)
    (encoder(x) - target).square().mean().backward()
    weight = encoder.layers[-1].feed_forward.down_proj.weight
    return weight.grad.norm().item()


def train(
    norm: Any,
    n_layers: int,
    seed: int,
    *,
    steps: int = 300,
    rate: float = 0.003,
    warmup: int = 0,
    draw: str = "Xavier",
) -> float:
    """Learn to sort; return the fraction of numbers in their right place."""
    torch.manual_seed(seed)
    encoder = make_encoder(norm, n_layers, draw)
    model = nn.Sequential(
        nn.Embedding(N_VALUES, D_MODEL),
        SinusoidalPositions(D_MODEL),
        encoder,
        nn.Linear(D_MODEL, N_VALUES),
    )
    optimizer = torch.optim.Adam(model.parameters(), lr=rate)
    for step in range(1, steps + 1):
        for group in optimizer.param_groups:
            group["lr"] = rate * min(1, step / max(1, warmup))
        numbers = torch.randint(N_VALUES, (16, LENGTH))
        wanted = numbers.sort(dim=1).values
        logits = model(numbers)
        loss = F.cross_entropy(logits.flatten(0, 1), wanted.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    numbers = torch.randint(N_VALUES, (1000, LENGTH))
    with torch.no_grad():
        right = model(numbers).argmax(dim=-1) == numbers.sort(dim=1).values
    return right.double().mean().item()


def position_alone() -> float:
    """The fraction right of who knows the position and never the numbers.

    The best answer at position i is the commonest i-th smallest number. How
    many of the 16^12 sequences have it is counted, not sampled.
    """
    right = 0
    for i in range(1, LENGTH + 1):
        at_most = [  # sequences that have i numbers or more below v
            sum(
                comb(LENGTH, k) * v**k * (N_VALUES - v) ** (LENGTH - k)
                for k in range(i, LENGTH + 1)
            )
            for v in range(N_VALUES + 1)
        ]
        right += max(more - less for less, more in pairwise(at_most))
    return right / LENGTH / N_VALUES**LENGTH


def run(seed: int) -> dict[str, float]:
    torch.manual_seed(seed)
    found = {}
    for stack in STACKS:
        for name in DRAWS:
            draw, n_layers = name.split(", ")
            if stack != "alone" or n_layers == "12":  # else nothing is left
                value = collapse(stack, draw, int(n_layers))
                found[f"collapse {stack}, {name}"] = value
    for norm in NORMS:
        for n_layers in (2, 8, 32):
            value = last_gradient(norm, n_layers)
            found[f"gradient {norm}, {n_layers}"] = value
        for warmup in WARM_UPS:
            for rate in RATES:
                found[f"rate {norm}, {warmup}, {rate}"] = train(
                    norm, 12, seed, rate=rate, warmup=warmup
                )
            for n_layers in (3, 6):
                found[f"depth {norm}, {warmup}, {n_layers}"] = train(
                    norm, n_layers, seed, warmup=warmup
                )
            found[f"default {norm}, {warmup}"] = train(
                norm, 12, seed, warmup=warmup, draw="default"
            )
        found[f"small {norm}"] = train(norm, 8, seed, steps=100)
    return found


def tables(results: dict[str, list[float]]) -> dict[str, list[list[str]]]:
    collapse = [["相似度 | similarity", *DRAWS.values()]]
    for stack, title in STACKS.items():
        cells = (results.get(f"collapse {stack}, {name}") for name in DRAWS)
        collapse.append([title, *(spread(c, 2) if c else "–" for c in cells)])
    gradient = [
        ["梯度范数 | gradient norm"]
        + [f"{n} 层 | {n} layers" for n in (2, 8, 32)]
    ]
    for norm, title in (
        ("post", "后置归一化 | post-norm"),
        ("pre", "前置归一化 | pre-norm"),
    ):
        cells = (results[f"gradient {norm}, {n}"] for n in (2, 8, 32))
        gradient.append([title, *(spread(cell) for cell in cells)])
    rate = [
        ["12 层，学习率 | 12 layers, learning rate"] + [f"{x}" for x in RATES]
    ]
    depth = [["学习率 0.003 | learning rate 0.003"]]
    depth[0] += [f"{n} 层 | {n} layers" for n in (3, 6, 12)]
    depth[0] += ["12 层，默认初值 | 12 layers, default"]
    for row, title in ROWS.items():
        by_rate = [results[f"rate {row}, {x}"] for x in RATES]
        rate.append([title, *(percent(x, 0) for x in by_rate)])
        cells = [results[f"depth {row}, {n}"] for n in (3, 6)]
        cells += [by_rate[-1], results[f"default {row}"]]
        depth.append([title, *(percent(x, 0) for x in cells)])
    blind = f"{100 * position_alone():.0f}%"
    for table in (rate, depth):
        table.append([BLIND, *[blind] * (len(table[0]) - 1)])
    return {
        "collapse": collapse,
        "gradient": gradient,
        "rate": rate,
        "depth": depth,
    }
