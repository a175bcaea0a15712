"""Recall against the size of the state, for "Linear attention, state spaces and
hybrids".

A sequence gives keys a value each and then asks for each key, as in multi-query
associative recall (Arora et al., 2023). In one task keys are bound anew, and
the last value is asked for. Each token also carries the one before it, in all
arms alike, so that what is compared is memory and not how a value finds its
key. Queries and keys have 8, 16 or 32 features, which sets the size of the
state, at nearly the same number of parameters.

If size alone decided, all rules would recall alike at the same size. If the
delta rule bought capacity, it would recall more keys that are bound once; if
what it bought is overwriting, it would gain where keys are bound anew. Values
at random are right one time in 64. All arms have the same steps, but for two
with twice as many, which show whether the others had learnt what they could.
The learning rate is the better of two by the loss on validation sequences,
with the first seed.

To train arms beforehand, in several processes: `python -m experiments.recall
0 2` takes every second one, from the first on. What they gave is kept in
.cache/experiments/recall.
"""

import json
import sys
from collections.abc import Callable
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from attention_book import EncoderLayer, MultiHeadAttention, RotaryAttention
from attention_book.attention.caches import KeyValue, Offset
from attention_book.attention.linear import (
    GatedDeltaAttention,
    LinearAttention,
)
from experiments.record import percent
from literate import ROOT


SEEDS = range(3)
KEPT = ROOT / ".cache/experiments/recall"
N_KEYS = 64
N_VALUES = 64
D_MODEL = 48
BATCH = 16
N_STEPS = 2400
N_WARMUP = 100
RATES = (0.005, 0.01)
TASKS = {  # how many keys, and how often each is bound
    "8 keys": (8, 1),
    "16 keys": (16, 1),
    "32 keys": (32, 1),
    "8 keys, 4 times": (8, 4),
}
Kind = Callable[[int, int], MultiHeadAttention]


class AdditiveAttention(LinearAttention):
    """Nothing decays."""

    def log_decay(self, x: Tensor) -> Tensor:
        return torch.zeros_like(super().log_decay(x))


class DeltaAttention(AdditiveAttention, GatedDeltaAttention):
    """The delta rule without decay."""


RULES: dict[str, type[LinearAttention]] = {
    "additive": AdditiveAttention,
    "decay": LinearAttention,
    "delta": DeltaAttention,
    "gated delta": GatedDeltaAttention,
}
WIDTHS = (8, 16, 32)


def narrow(kind: type[LinearAttention], width: int) -> Kind:
    """Linear attention with so many features of each query and key."""

    class Narrow(kind):  # type: ignore[misc, valid-type]
        def queries(self, x: Tensor, offset: Offset = 0) -> Tensor:
            return super().queries(x)[..., :width]

        def keys_and_values(
            self, memory: Tensor, offset: Offset = 0
        ) -> KeyValue:
            key, value = super().keys_and_values(memory)
            return KeyValue(key[..., :width], value)

    return Narrow


class Arm(NamedTuple):
    """The attention of both layers, the features of keys, the steps."""

    title: str
    first: str
    second: str
    width: int
    n_steps: int = N_STEPS

    def kind(self, rule: str) -> Kind:
        if rule == "softmax":
            return RotaryAttention
        return narrow(RULES[rule], self.width)


TITLES = {
    "additive": "加法 | add",
    "decay": "衰减 | decay",
    "delta": "delta 规则 | delta rule",
    "gated delta": "门控 delta 规则 | gated delta rule",
}
ARMS = {"softmax": Arm("softmax", "softmax", "softmax", 0)} | {
    f"{rule}, {width}": Arm(TITLES[rule], rule, rule, width)
    for rule in RULES
    for width in WIDTHS
}
for rule in ("additive", "gated delta"):
    zh, en = TITLES[rule].split(" | ")
    title = f"{zh}，两倍的步数 | {en}, twice the steps"
    ARMS[f"{rule}, 16, longer"] = Arm(title, rule, rule, 16, 2 * N_STEPS)
ARMS["hybrid, 8"] = Arm(
    "门控 delta 规则一层，softmax 一层 | gated delta rule, then softmax",
    "gated delta",
    "softmax",
    8,
)


def draw(size: int, n_keys: int, times: int) -> tuple[Tensor, Tensor]:
    """Tokens, and the value that each asks for, or -1."""

    def shuffled(keys: Tensor) -> Tensor:
        return keys.gather(1, torch.rand(keys.shape).argsort(dim=-1))

    keys = torch.rand(size, N_KEYS).argsort(dim=-1)[:, :n_keys]
    bound = torch.cat([shuffled(keys) for _ in range(times)], dim=1)
    values = torch.randint(N_VALUES, bound.shape)
    pairs = torch.stack([bound, N_KEYS + values], dim=-1).flatten(1)
    asked = shuffled(keys)
    is_last = bound[:, None, -n_keys:] == asked[:, :, None]
    answers = values[:, -n_keys:].gather(1, is_last.int().argmax(dim=-1))
    none = torch.full_like(pairs, -1)
    tokens = torch.cat([pairs, asked], dim=1)
    return tokens, torch.cat([none, answers], dim=1)


class Reader(nn.Module):
    """Two layers over tokens, each of which carries the one before it."""

    def __init__(self, arm: Arm) -> None:
        super().__init__()
        self.tokens = nn.Embedding(N_KEYS + N_VALUES, D_MODEL)
        self.before = nn.Embedding(N_KEYS + N_VALUES, D_MODEL)
        self.layers = nn.ModuleList(
            EncoderLayer(
                D_MODEL,
                1,
                2 * D_MODEL,
                norm="pre",
                self_attention=arm.kind(rule),
            )
            for rule in (arm.first, arm.second)
        )
        self.norm = nn.LayerNorm(D_MODEL)
        self.out = nn.Linear(D_MODEL, N_VALUES)

    def forward(self, tokens: Tensor) -> Tensor:
        before = F.pad(self.before(tokens[:, :-1]), (0, 0, 1, 0))
        x = self.tokens(tokens) + before
        for layer in self.layers:
            x = layer(x, is_causal=True)
        return self.out(self.norm(x))


def train(arm: Arm, rate: float, seed: int) -> Reader:
    torch.manual_seed(seed)
    reader = Reader(arm)
    optimiser = torch.optim.AdamW(reader.parameters(), weight_decay=0.01)
    tasks = [*TASKS.values()]
    for step in range(arm.n_steps):
        left = 1 - step / arm.n_steps
        for group in optimiser.param_groups:
            group["lr"] = rate * min((step + 1) / N_WARMUP, left)
        tokens, labels = draw(BATCH, *tasks[step % len(tasks)])
        logits = reader(tokens).flatten(0, 1)
        loss = F.cross_entropy(logits, labels.flatten(), ignore_index=-1)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    return reader.eval()


@torch.no_grad()
def evaluate(reader: Reader, seed: int) -> dict[str, float]:
    """The fraction of right answers in each task, and the mean loss."""
    torch.manual_seed(seed)
    found = {}
    losses = []
    for name, task in TASKS.items():
        tokens, labels = draw(500, *task)
        logits = reader(tokens)[labels >= 0]
        answers = labels[labels >= 0]
        right = logits.argmax(dim=-1) == answers
        found[name] = right.double().mean().item()
        losses.append(F.cross_entropy(logits, answers).item())
    return found | {"loss": sum(losses) / len(losses)}


def measure(name: str, seed: int) -> dict[str, float]:
    """Train an arm with this seed, unless that was done."""
    path = KEPT / f"{name}, seed {seed}.json"
    if not path.exists():
        arm = ARMS[name]
        rates = RATES if seed == 0 else (measure(name, 0)["rate"],)
        trained = {rate: train(arm, rate, seed) for rate in rates}
        rate = min(
            trained, key=lambda r: evaluate(trained[r], 1000 + seed)["loss"]
        )
        found = evaluate(trained[rate], 2000 + seed) | {"rate": rate}
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(found), "utf-8")
    kept: dict[str, float] = json.loads(path.read_text("utf-8"))
    return kept


def run(seed: int) -> dict[str, float]:
    return {
        f"{name}: {key}": value
        for name in ARMS
        for key, value in measure(name, seed).items()
    }


def tables(results: dict[str, list[float]]) -> dict[str, list[list[str]]]:
    head = [
        "规则 | rule",
        "一层的状态 | state of a layer",
        "8 个键 | 8 keys",
        "16 个键 | 16 keys",
        "32 个键 | 32 keys",
        "8 个键，各写 4 次 | 8 keys, 4 times each",
        "学习率 | rate",
    ]
    rows = [head]
    for name, arm in ARMS.items():
        size = f"{arm.width} × {D_MODEL}"
        state = "随长度增长 | grows" if arm.first == "softmax" else size
        cells = [percent(results[f"{name}: {task}"], 0) for task in TASKS]
        rate = f"{results[f'{name}: rate'][0]:g}"
        rows.append([arm.title, state, *cells, rate])
    return {"recall": rows}


if __name__ == "__main__":
    first, step = map(int, sys.argv[1:])
    jobs = [(name, seed) for seed in SEEDS for name in ARMS]
    for job in jobs[first::step]:
        print(*job, measure(*job), flush=True)
