"""Recall against the size of the state, for "Linear attention, state spaces and
hybrids".

A sequence names keys, each with a value, and then asks for each key; the answer
is the last value that the key was given, as in multi-query associative recall
(Arora et al., 2023, §3). Each token also carries the one before it, in all
arms alike, so that what is compared is memory and not how a key finds its
value. Two layers, 64 wide. More heads mean a smaller state, d_model² / n_heads
numbers a layer, at the same number of parameters.

If size alone decided, all rules would recall alike at the same size. If the
delta rule bought capacity, it would recall more keys that are bound once; if
it bought overwriting, it would gain only where keys are bound anew. Answering
at random is right one time in 64. Of two learning rates each arm takes, with
each seed, the one with the smaller loss on validation sequences. It is trained until that
loss has not fallen by 2% in four looks, 200 steps apart, and counts as it was at
its best. The tables say in how many runs the steps ran out before that.

To train arms beforehand, in several processes: `python -m experiments.recall
0 2` takes every second one, from the first on. What they gave is kept in
.cache/experiments/recall.

Not run to its end: it has no record yet.
"""

import copy
import json
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from attention_book import EncoderLayer, RotaryAttention
from attention_book.attention.caches import KeyValue, Offset
from attention_book.attention.linear import (
    GatedDeltaAttention,
    LinearAttention,
)
from attention_book.attention.multi_head import MultiHeadAttention
from experiments.record import percent, spread


RUNS = range(3)
CACHE = Path(".cache/experiments/recall")
N_KEYS = N_VALUES = 64
D_MODEL = 48
BATCH = 16
RATES = (0.002, 0.006)
MAX_STEPS = 4000
LOOK_EVERY = 200
PATIENCE = 4
TASKS = {  # how many keys, and how often each is bound
    "8 keys": (8, 1),
    "16 keys": (16, 1),
    "32 keys": (32, 1),
    "8 keys, 4 times": (8, 4),
}
Kind = Callable[[int, int], MultiHeadAttention]


class _KeepAll(LinearAttention):
    """Nothing decays."""

    def log_decay(self, x: Tensor) -> Tensor:
        return torch.zeros_like(super().log_decay(x))


class DeltaAttention(_KeepAll, GatedDeltaAttention):
    """The delta rule without decay."""


def narrow(kind: type[LinearAttention], width: int) -> Kind:
    """Linear attention with so many features of each query and key."""

    class Narrow(kind):
        def queries(self, x: Tensor, offset: Offset = 0) -> Tensor:
            return super().queries(x)[..., :width]

        def keys_and_values(
            self, memory: Tensor, offset: Offset = 0
        ) -> KeyValue:
            key, value = super().keys_and_values(memory)
            return KeyValue(key[..., :width], value)

    return Narrow


RULES = {
    "additive": _KeepAll,
    "decay": LinearAttention,
    "delta": DeltaAttention,
    "gated delta": GatedDeltaAttention,
}
WIDTHS = (8, 16, 32)
N_HEADS = 1


def kinds(rule: str, width: int) -> tuple[Kind, Kind]:
    """Of the first and the second layer."""
    if rule == "softmax":
        return RotaryAttention, RotaryAttention
    if rule == "hybrid":
        return narrow(GatedDeltaAttention, width), RotaryAttention
    return (narrow(RULES[rule], width),) * 2


def draw(size: int, n_keys: int, times: int) -> tuple[Tensor, Tensor]:
    """Tokens, and the value that each asks for, -1 where it asks for none."""
    keys = torch.rand(size, N_KEYS).argsort(dim=-1)[:, :n_keys]
    order = [
        keys.gather(1, torch.rand(size, n_keys).argsort(-1))
        for _ in range(times)
    ]
    bound = torch.cat(order, dim=1)
    values = torch.randint(N_VALUES, bound.shape)
    pairs = torch.stack([bound, N_KEYS + values], dim=-1).flatten(1)
    asked = keys.gather(1, torch.rand(size, n_keys).argsort(-1))
    # the last round holds each key once
    last = order[-1][:, None] == asked[:, :, None]
    answers = values[:, -n_keys:].gather(1, last.int().argmax(dim=-1))
    labels = torch.full_like(pairs, -1)
    return torch.cat([pairs, asked], dim=1), torch.cat(
        [labels, answers], dim=1
    )


class Reader(nn.Module):
    """Two layers over tokens, each of which carries the one before it."""

    def __init__(self, kinds: Sequence[Kind]) -> None:
        super().__init__()
        self.tokens = nn.Embedding(N_KEYS + N_VALUES, D_MODEL)
        self.before = nn.Embedding(N_KEYS + N_VALUES, D_MODEL)
        self.layers = nn.ModuleList(
            EncoderLayer(
                D_MODEL, N_HEADS, 2 * D_MODEL, norm="pre", self_attention=kind
            )
            for kind in kinds
        )
        self.norm = nn.LayerNorm(D_MODEL)
        self.out = nn.Linear(D_MODEL, N_VALUES)

    def forward(self, token_ids: Tensor) -> Tensor:
        x = self.tokens(token_ids)
        x = x + F.pad(self.before(token_ids[:, :-1]), (0, 0, 1, 0))
        for layer in self.layers:
            x = layer(x, is_causal=True)
        return self.out(self.norm(x))


def loss_of(model: Reader, tokens: Tensor, labels: Tensor) -> Tensor:
    logits = model(tokens)[labels >= 0]
    return F.cross_entropy(logits, labels[labels >= 0])
