"""What a smaller cache costs in quality, for "The key–value cache".

A small language model of characters learns Shakespeare's plays. Arms differ
in their attention alone: heads that share keys and values, a latent, layers
that share. The feed-forward networks are as wide as it takes for all to have
as many parameters as multi-head attention has. All have rotary positions.
Does loss grow as the cache shrinks, and is a latent better than shared heads
of as many bytes? It is not, if their losses differ by no more than seeds do.

Each arm has the same rates, in STEPS steps with the first seed, and the rate
with the least loss on validation text for all seeds; what is shown is the
loss on other text, which no choice has seen. Above these rates, at 8e-3, none
of the five arms that were tried was at its best. The number of steps is fixed and
the same for all: with more of them every arm would still improve. Counting
is the baseline.

A step of decoding is timed after CONTEXT tokens that were never read: what is
in the caches does not change how long it takes. Arms take turns.

The text is the tinyshakespeare of Karpathy's char-rnn, whose path the
environment variable SHAKESPEARE gives; nothing of it is in the repository.
What is trained is kept in .cache/experiments/cache-quality, so that a run
that is cut off goes on. To train arms beforehand, in several processes:
`python -m experiments.cache_quality 0 2` takes every second one, from the
first on; first the rates, then the seeds.
"""

import hashlib
import json
import math
import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from attention_book import CausalLanguageModel, KeyValueCache
from attention_book.attention.caches import KeyValue, Offset
from attention_book.attention.latent import LatentAttention
from attention_book.attention.positions import RotaryAttention
from attention_book.models.config import TextConfig
from attention_book.models.encoder import Encoder, EncoderLayer, FeedForward
from benchmarks.sidebyside import side_by_side
from corpora.ngrams import NGramModel
from experiments.record import spread


SEEDS = range(3)
CACHE = Path(__file__).parents[1] / ".cache" / "experiments" / "cache-quality"
D_MODEL = 96
N_HEADS = 6
N_LAYERS = 4
D_FF = 384  # of multi-head attention
LENGTH = 128  # of a training text, in characters
BATCH = 8
STEPS = 2000
WARM_UP = 100
RATES = (1e-3, 2e-3, 4e-3)
CONTEXT = 4096
TEXTS = 8  # that are continued at a time
ORDERS = (3, 5)
ELEMENT_SIZE = 2  # bytes a number, as large models have it


class Lender(RotaryAttention):
    """Rotary attention that lends its keys and values to the next layer."""

    kept: KeyValue
    offset: Offset = 0

    def queries(self, x: Tensor, offset: Offset = 0) -> Tensor:
        self.offset = offset
        return super().queries(x, offset)

    def attend(
        self, query: Tensor, kv: KeyValue, mask: Tensor | None, is_causal: bool
    ) -> Tensor:
        self.kept = kv
        return super().attend(query, kv, mask, is_causal)


class Borrower(RotaryAttention):
    """Rotary attention with the keys and values of the layer below.

    Source: Brandon et al. (2024), §2.2.
    """

    def __init__(self, lender: Lender, d_model: int, n_heads: int) -> None:
        super().__init__(d_model, n_heads, n_kv_heads=lender.n_kv_heads)
        del self.kv_proj
        self.lenders = [lender]  # in a list it is no part of this module

    def queries(self, x: Tensor, offset: Offset = 0) -> Tensor:
        return super().queries(x, self.lenders[0].offset)

    def keys_and_values(self, memory: Tensor, offset: Offset = 0) -> KeyValue:
        return self.lenders[0].kept


class NoPositions(nn.Module):
    """In place of learnt positions, for models that rotate."""

    def forward(self, x: Tensor, offset: Offset = 0) -> Tensor:
        return x


@dataclass(frozen=True)
class Arm:
    """A kind of attention."""

    title: str
    n_kv_heads: int = 0
    d_latent: int = 0
    d_rope: int = 0
    pairs: bool = False  # two layers share


ARMS = {
    "MHA": Arm("MHA", 6),
    "GQA": Arm("GQA，2 个键值头 | GQA, 2 heads", 2),
    "MQA": Arm("MQA", 1),
    "MLA-64": Arm("MLA，48 + 16 | MLA, 48 + 16", d_latent=48, d_rope=16),
    "MLA-32": Arm("MLA，24 + 8 | MLA, 24 + 8", d_latent=24, d_rope=8),
    "MHA, pairs": Arm("MHA，两层合用 | MHA, in pairs", 6, pairs=True),
    "MQA, pairs": Arm("MQA，两层合用 | MQA, in pairs", 1, pairs=True),
}


def attentions(arm: Arm) -> list[Callable[[int, int], Any]]:
    """What makes the attention of each layer."""
    if arm.d_latent:
        sizes = {"d_latent": arm.d_latent, "d_rope": arm.d_rope}
        return [partial(LatentAttention, **sizes)] * N_LAYERS
    if not arm.pairs:
        return [partial(RotaryAttention, n_kv_heads=arm.n_kv_heads)] * N_LAYERS
    makers: list[Callable[[int, int], Any]] = []
    for _ in range(N_LAYERS // 2):
        lender = Lender(D_MODEL, N_HEADS, n_kv_heads=arm.n_kv_heads)
        makers.append(lambda *_, lender=lender: lender)
        makers.append(partial(Borrower, lender))
    return makers


def count(module: nn.Module) -> int:
    return sum(p.numel() for p in module.parameters())


def make_model(arm: Arm, vocab_size: int, seed: int) -> CausalLanguageModel:
    """A model of as many parameters as with MHA, to within a few hundred."""
    torch.manual_seed(seed)
    config = TextConfig(
        vocab_size=vocab_size,
        d_model=D_MODEL,
        n_heads=N_HEADS,
        d_ff=D_FF,
        n_layers=1,
        dropout=0.0,
    )
    model = CausalLanguageModel(config)
    model.encoder.positions = NoPositions()
    makers = attentions(arm)
    used = sum(count(make(D_MODEL, N_HEADS)) for make in makers)
    wanted = N_LAYERS * count(RotaryAttention(D_MODEL, N_HEADS))
    d_ff = D_FF + round((wanted - used) / N_LAYERS / (2 * D_MODEL + 1))
    feed_forward = partial(FeedForward, activation=F.gelu)
    layers = [
        EncoderLayer(
            D_MODEL,
            N_HEADS,
            d_ff,
            norm="pre",
            self_attention=make,
            feed_forward=feed_forward,
        )
        for make in makers
    ]
    model.encoder.encoder = Encoder(layers, nn.LayerNorm(D_MODEL))
    return model


def caches(arm: Arm, capacity: int) -> list[KeyValueCache | None]:
    """One for each layer, but for those that borrow."""
    borrows = [arm.pairs and i % 2 == 1 for i in range(N_LAYERS)]
    return [None if x else KeyValueCache(capacity) for x in borrows]


@cache
def text() -> tuple[dict[str, Tensor], int]:
    """The plays in numbers: nine tenths to learn, then two parts to judge."""
    path = os.environ.get("SHAKESPEARE", "")
    if not path:
        raise ValueError(
            "SHAKESPEARE must be the path of tinyshakespeare.txt, got nothing"
        )
    plays = Path(path).read_text("utf-8")
    ids = {x: i for i, x in enumerate(sorted(set(plays)))}
    numbers = torch.tensor([ids[x] for x in plays])
    ends = [int(share * len(numbers)) for share in (0.9, 0.95)]
    parts = numbers.tensor_split(ends)
    names = ("train", "validation", "test")
    return dict(zip(names, parts, strict=True)), len(ids)


@torch.no_grad()
def bits(model: CausalLanguageModel, part: str) -> float:
    """Mean loss of a character, in bits, in texts of LENGTH."""
    numbers = text()[0][part]
    n = (len(numbers) - 1) // LENGTH
    inputs = numbers[: n * LENGTH].view(n, LENGTH)
    targets = numbers[1 : n * LENGTH + 1].view(n, LENGTH)
    losses = [
        F.cross_entropy(model(x).mT, y, reduction="sum").item()
        for x, y in zip(inputs.split(64), targets.split(64), strict=True)
    ]
    return sum(losses) / targets.numel() / math.log(2)


def train(name: str, rate: float, seed: int) -> dict[str, float]:
    """Train an arm, unless it was before: losses, seconds, parameters."""
    arm = ARMS[name]
    how = (arm, rate, seed, D_MODEL, N_LAYERS, LENGTH, BATCH, STEPS, WARM_UP)
    path = (
        CACHE / f"{hashlib.sha256(repr(how).encode()).hexdigest()[:12]}.json"
    )
    if path.exists():
        kept: dict[str, float] = json.loads(path.read_text("utf-8"))
        return kept
    torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", "1")))
    parts, vocab_size = text()
    model = make_model(arm, vocab_size, seed)
    optimiser = torch.optim.AdamW(model.parameters(), rate, weight_decay=0.1)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimiser,
        lambda i: min((i + 1) / WARM_UP, (STEPS - i) / (STEPS - WARM_UP)),
    )
    generator = torch.Generator().manual_seed(seed)
    numbers = parts["train"]
    start = time.process_time()
    for i in range(STEPS):
        first = torch.randint(
            len(numbers) - LENGTH, (BATCH, 1), generator=generator
        )
        rows = numbers[first + torch.arange(LENGTH + 1)]
        loss = F.cross_entropy(model(rows[:, :-1]).mT, rows[:, 1:])
        optimiser.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        schedule.step()
        if i % 200 == 199:
            print(f"{name} {rate:g} {seed}: {i + 1}", loss.item(), flush=True)
    model.eval()
    found = {
        "seconds": time.process_time() - start,
        "parameters": count(model),
        "validation": bits(model, "validation"),
        "test": bits(model, "test"),
    }
    check(model, arm)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(found), "utf-8")
    print(name, rate, seed, found, flush=True)
    return found


@torch.no_grad()
def check(model: CausalLanguageModel, arm: Arm) -> None:
    """Raise AssertionError unless a cache gives what a single pass gives."""
    ids = text()[0]["test"][None, :12]
    held = caches(arm, 12)
    parts = [model(x, held) for x in ids.split([5, 1, 1, 5], dim=1)]
    torch.testing.assert_close(
        torch.cat(parts, dim=1), model(ids), atol=1e-3, rtol=1e-3
    )


def best_rate(name: str) -> float:
    losses = {rate: train(name, rate, 0)["validation"] for rate in RATES}
    return min(RATES, key=lambda rate: losses[rate])


@torch.no_grad()
def decoding(seed: int) -> dict[str, dict[str, float]]:
    """Bytes that a token has in the caches, and the time of a step."""
    vocab_size = text()[1]
    n_bytes: dict[str, float] = {}
    steps: dict[str, Callable[[], object]] = {}
    ids = torch.randint(vocab_size, (TEXTS, 1))
    for name, arm in ARMS.items():
        model = make_model(arm, vocab_size, seed).eval()
        held = caches(arm, CONTEXT + 1)
        model(ids, held)  # allocates the buffers
        buffers = [x.buffer for x in held if x is not None]
        n_bytes[name] = sum(
            ELEMENT_SIZE * part[0, :, 0].numel()
            for buffer in buffers
            for part in buffer or ()
        )
        for buffer in buffers:
            for part in buffer or ():
                part.normal_()

        def step(model: Any = model, held: Any = held) -> None:
            for each in held:
                if each is not None:
                    each.length = CONTEXT
            model(ids, held)

        steps[name] = step
    return {"bytes": n_bytes, "seconds": dict(side_by_side(steps))}


@cache
def counted(n: int) -> float:
    """Bits a character on the test part of an n-gram model."""
    parts, vocab_size = text()
    model = NGramModel(parts["train"].tolist(), n, vocab_size)
    ids = parts["test"].tolist()
    seen = range(n - 1, len(ids))
    logs = [
        math.log2(model.probabilities(ids[i - n + 1 : i])[ids[i]])
        for i in seen
    ]
    return -sum(logs) / len(logs)


def run(seed: int) -> dict[str, Any]:
    found: dict[str, Any] = {f"{n}-gram: test": counted(n) for n in ORDERS}
    for name in ARMS:
        for rate in RATES:
            found[f"{name}: rate {rate:g}"] = train(name, rate, 0)[
                "validation"
            ]
        best = best_rate(name)
        found[f"{name}: best rate"] = best
        for key, value in train(name, best, seed).items():
            if key != "seconds":  # of processes that were not alone
                found[f"{name}: {key}"] = value
    measured = decoding(seed)
    for name in ARMS:
        found[f"{name}: bytes"] = measured["bytes"][name]
        ratio = measured["seconds"][name] / measured["seconds"]["MHA"]
        found[f"{name}: time of a step"] = ratio
    return found


def tables(results: dict[str, list[Any]]) -> dict[str, list[list[str]]]:
    rows = [
        [
            "注意力 | attention",
            "参数 | parameters",
            "字节一个词元 | bytes a token",
            "比特一个字符 | bits a character",
            "解码一步 | step of decoding",
        ]
    ]
    rows += [
        [
            f"{n} 元模型 | {n}-gram model",
            "–",
            "–",
            f"{results[f'{n}-gram: test'][0]:.2f}",
            "–",
        ]
        for n in ORDERS
    ]
    rates = [["注意力 | attention", *(f"{rate:g}" for rate in RATES)]]
    for name, arm in ARMS.items():
        own = {
            key: results[f"{name}: {key}"]
            for key in ("parameters", "bytes", "test", "time of a step")
        }
        rows.append(
            [
                arm.title,
                f"{own['parameters'][0]:,.0f}",
                f"{own['bytes'][0]:,.0f}",
                spread(own["test"], 3),
                spread(own["time of a step"], 2),
            ]
        )
        losses = [results[f"{name}: rate {rate:g}"][0] for rate in RATES]
        rates.append([arm.title, *(f"{x:.3f}" for x in losses)])
    return {"arms": rows, "rates": rates}


if __name__ == "__main__":
    start, stride = map(int, sys.argv[1:])
    names = [*ARMS]
    jobs = [(name, rate) for name in names for rate in RATES]
    for one, rate in jobs[start::stride]:
        train(one, rate, 0)
    others = [(name, seed) for seed in SEEDS[1:] for name in names]
    for one, run_seed in others[start::stride]:
        train(one, best_rate(one), run_seed)
