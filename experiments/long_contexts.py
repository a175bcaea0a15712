"""One small model trained on 512 tokens, and run to 8,192.

A document is made of words, of which it uses 30 of a dictionary of 200, and of
facts: a key and its value, which nothing but the document tells. Each fact is
repeated, so that a model that looks back can predict the value. Recall is
asked at the end of a document: eight facts stand at eight depths of it, among
words, and then each key is asked for once. Guessing gives one value in 32. A
loss is that of the words alone, by position.

The arms differ in which keys a query sees. They begin from one model, trained
on 64 tokens, for which all of them see the same, and go on with 512. Seven
tenths of the short documents are facts: in a trial with four tenths, looking
back was not learnt in 100 steps, and with seven it was. Rates are chosen on
other documents of 512 tokens, for each arm alike, with the first seed. The
model that sees everything is then stretched to 16 times the length, as it is
and after 50 steps on 2,048 tokens, and is run with a cache that rolls.

What would refute that a window loses what lies beyond its reach: recall from
the start of a document above chance. That sinks matter to a model trained
without a window: the loss with a rolling cache of 256 no worse without them.
That stretching serves: recall at 2,048 no better than that of the model as it
is. Training stops after a fixed number of steps, at a rate that falls to a
tenth, and may still improve.

Every trained model and every measurement is kept, so that a run that is broken
off goes on. To make them beforehand, in several processes: `python -m
experiments.long_contexts 0 2` takes every second seed, from the first on.

All of it takes some 80 minutes of one core.
"""

import copy
import json
import random
import sys
import time
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from attention_book.attention.block_sparse import BlockSparseAttention
from attention_book.attention.caches import KeyValueCache
from attention_book.attention.positions import RotaryAttention, RotaryEmbedding
from attention_book.attention.stretched import YarnEmbedding
from attention_book.attention.window import RollingCache, WindowAttention
from attention_book.models.encoder import Encoder, EncoderLayer, FeedForward
from experiments.record import digest_of_script, percent, spread
from literate import ROOT


SEEDS = range(3)
LETTERS = 26  # and then a space, keys, values and the beginning
SPACE, KEY, VALUE, BEGIN, VOCAB = 26, 27, 59, 91, 92
N_VALUES = BEGIN - VALUE
N_FACTS = 8
SHORT, TRAINED, TUNED = 64, 512, 2048
LENGTHS = (512, 1024, 2048, 4096, 8192)
FACTOR = LENGTHS[-1] // TRAINED
BATCH_TOKENS = 4096
STEPS = {SHORT: 400, TRAINED: 600, TUNED: 50}
RATES = (1.5e-3, 3e-3)
WINDOW, ROLLED, N_SINKS = 64, 256, 4
D_MODEL, N_HEADS, N_LAYERS = 128, 4, 2
D_K = D_MODEL // N_HEADS

ARMS: dict[str, Callable[..., RotaryAttention]] = {
    "full": RotaryAttention,
    "window": partial(WindowAttention, window=WINDOW),
    "sinks": partial(WindowAttention, window=WINDOW, n_sinks=N_SINKS),
    "selected": partial(BlockSparseAttention, block_size=32, n_selected=3),
}
TITLES = {
    "full": "全部的键 | all keys",
    "window": "窗口 64 | window of 64",
    "sinks": "窗口 64 加 4 个汇点 | window of 64 and 4 sinks",
    "selected": "32 个一块，选 3 块 | 3 blocks of 32 selected",
}
WAYS = {
    "as it is": "原样 | as it is",
    "interpolation": "内插 | interpolation",
    "NTK-aware": "换大底数 | larger base (NTK-aware)",
    "NTK-by-parts": "分段 | by parts (NTK-by-parts)",
    "YaRN": "YaRN",
}


class ByParts(YarnEmbedding):
    """YaRN without its temperature."""

    def forward(self, x: Tensor, offset: int | Tensor = 0) -> Tensor:
        return RotaryEmbedding.forward(self, x, offset)


class Interpolated(RotaryEmbedding):
    """All frequencies divided by FACTOR."""

    def angles(self, x: Tensor, offset: int | Tensor) -> Tensor:
        return super().angles(x, offset) / FACTOR


def rotary_of(way: str) -> RotaryEmbedding:
    if way == "interpolation":
        return Interpolated(D_K)
    if way == "NTK-aware":
        return RotaryEmbedding(D_K, 1e4 * FACTOR ** (D_K / (D_K - 2)))
    if way == "NTK-by-parts":
        return ByParts(D_K, float(FACTOR), TRAINED)
    if way == "YaRN":
        return YarnEmbedding(D_K, float(FACTOR), TRAINED)
    return RotaryEmbedding(D_K)


class Model(nn.Module):
    """A causal language model whose attention is given.

    A token comes with the one before it, so that the value of a fact is found
    by one look at its key.
    """

    def __init__(self, attention: Callable[..., RotaryAttention]) -> None:
        super().__init__()
        self.tokens = nn.Embedding(VOCAB, D_MODEL)
        self.before = nn.Embedding(VOCAB, D_MODEL)
        for table in (self.tokens, self.before):
            nn.init.normal_(table.weight, std=0.02)
        layers = [
            EncoderLayer(
                D_MODEL,
                N_HEADS,
                4 * D_MODEL,
                norm="pre",
                self_attention=attention,
                feed_forward=partial(FeedForward, activation=F.gelu),
            )
            for _ in range(N_LAYERS)
        ]
        self.encoder = Encoder(layers, nn.LayerNorm(D_MODEL))
        self.head = nn.Linear(D_MODEL, VOCAB)

    def forward(self, x: Tensor) -> Tensor:
        return self.read(self.embed(x))

    def embed(self, x: Tensor) -> Tensor:
        before = F.pad(x[:, :-1], (1, 0), value=BEGIN)
        vectors: Tensor = self.tokens(x) + self.before(before)
        return vectors

    def read(
        self, vectors: Tensor, caches: list[KeyValueCache] | None = None
    ) -> Tensor:
        x = self.encoder(vectors, None, caches, is_causal=True)
        logits: Tensor = self.head(x)
        return logits


def with_attention(
    model: Model, attention: Callable[..., RotaryAttention]
) -> Model:
    """The same weights, which see other keys."""
    made = Model(attention)
    made.load_state_dict(model.state_dict())
    return made


def attentions(model: Model) -> list[RotaryAttention]:
    return [m for m in model.modules() if isinstance(m, RotaryAttention)]


def with_rotary(model: Model, way: str) -> Model:
    made = copy.deepcopy(model)
    for attention in attentions(made):
        attention.rotary = rotary_of(way)
    return made


@cache
def dictionary() -> list[list[int]]:
    rng = random.Random(0)
    return [
        [*(rng.randrange(LETTERS) for _ in range(rng.randint(2, 5))), SPACE]
        for _ in range(200)
    ]


def document(
    rng: random.Random, n: int, n_facts: int = N_FACTS, share: float = 0.4
) -> list[int]:
    """So many tokens; a share of words and facts is facts."""
    words = rng.sample(dictionary(), 30)
    keys = rng.sample(range(KEY, VALUE), n_facts)
    facts = [[key, rng.randrange(VALUE, BEGIN)] for key in keys]
    tokens = [BEGIN]
    while len(tokens) < n:
        tokens += rng.choice(facts if rng.random() < share else words)
    return tokens[:n]


def examination(rng: random.Random, n: int) -> list[int]:
    """Words, a fact at each eighth of them, and all facts asked for."""
    n_words = n - 2 * N_FACTS
    tokens = document(rng, n_words, share=0.0)
    keys = rng.sample(range(KEY, VALUE), N_FACTS)
    facts = [[key, rng.randrange(VALUE, BEGIN)] for key in keys]
    for number, fact in enumerate(facts):
        at = 1 + round((number + 0.5) * (n_words - 3) / N_FACTS)
        tokens[at : at + 2] = fact
    asked = facts.copy()
    rng.shuffle(asked)
    return tokens + [token for fact in asked for token in fact]


def train(
    model: Model, seed: int, length: int, rate: float, name: str
) -> Model:
    """Go on with documents of that length."""
    rng = random.Random(1000 * seed + length)
    n_steps = STEPS[length]
    optimiser = torch.optim.AdamW(model.parameters(), rate, weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimiser,
        lambda step: min((step + 1) / 20, 1) * max(0.1, 1 - step / n_steps),
    )
    n_facts, share = (4, 0.7) if length == SHORT else (N_FACTS, 0.4)
    start = time.process_time()
    for step in range(n_steps):
        batch = [
            document(rng, length + 1, n_facts, share)
            for _ in range(BATCH_TOKENS // length)
        ]
        x = torch.tensor(batch)
        loss = F.cross_entropy(model(x[:, :-1]).mT, x[:, 1:])
        optimiser.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        schedule.step()
        if step % 100 == 99:
            spent = time.process_time() - start
            print(
                f"{name}: step {step + 1}, loss {loss:.3f}, {spent:.0f} s",
                flush=True,
            )
    return model


def kept(name: str, seed: int, suffix: str) -> Path:
    """Where something of this experiment, as it stands, is kept."""
    of = digest_of_script(Path(__file__))
    folder = ROOT / ".cache/experiments/long-contexts" / of
    folder.mkdir(parents=True, exist_ok=True)
    return folder / f"{name.replace(' ', '-')}-{seed}{suffix}"


def trained(arm: str, seed: int, rate: float) -> Model:
    """The model of an arm, trained now or kept; "short" is what they begin as."""
    path = kept(f"{arm}-{rate}", seed, ".pt")
    if arm == "short":
        torch.manual_seed(seed)
        model = Model(RotaryAttention)
    else:
        model = with_attention(trained("short", seed, RATES[-1]), ARMS[arm])
    if path.exists():
        model.load_state_dict(torch.load(path, weights_only=True))
        return model
    length = SHORT if arm == "short" else TRAINED
    train(model, seed, length, rate, f"{arm}, seed {seed}, rate {rate}")
    torch.save(model.state_dict(), path)
    return model


@torch.no_grad()
def validation(model: Model) -> float:
    rng = random.Random(-1)
    x = torch.tensor([document(rng, TRAINED + 1) for _ in range(16)])
    return F.cross_entropy(model(x[:, :-1]).mT, x[:, 1:]).item()


@cache
def rate_of(arm: str) -> float:
    """The better of the rates, on other documents, with the first seed."""
    return min(RATES, key=lambda rate: validation(trained(arm, 0, rate)))


def best(arm: str, seed: int) -> Model:
    return trained(arm, seed, rate_of(arm))


def streamed(model: Model, x: Tensor, caches: list[KeyValueCache]) -> Tensor:
    """Logits token by token, with caches that may roll."""
    vectors = torch.split(model.embed(x), 1, dim=1)
    steps = [model.read(vector, caches) for vector in vectors]
    return torch.cat(steps, dim=1)


def rolling(model: Model, window: int, n_sinks: int) -> list[KeyValueCache]:
    return [
        RollingCache(window, n_sinks, attention.rotary)
        for attention in attentions(model)
    ]


@torch.no_grad()
def measure(
    model: Model,
    seed: int,
    make: Callable[[Model], list[KeyValueCache]] | None = None,
    longest_alone: bool = False,
    n_documents: int = 8,
) -> dict[str, float]:
    """Recall by length and depth, and the loss of words by position."""
    found: dict[str, float] = {}
    for n in LENGTHS[-1:] if longest_alone else LENGTHS:
        rng = random.Random(10_000 + 100 * seed)
        right = torch.zeros(N_FACTS)
        losses = torch.zeros(n - 1)
        n_words = n - 2 * N_FACTS
        for _ in range(n_documents):
            x = torch.tensor([examination(rng, n)])
            logits = streamed(model, x, make(model)) if make else model(x)
            losses += F.cross_entropy(
                logits[0, :-1], x[0, 1:], reduction="none"
            )
            depth: dict[int, int] = {}
            for at in range(n_words):
                if KEY <= x[0, at] < VALUE:
                    depth[int(x[0, at])] = len(depth)
            for at in range(n_words, n, 2):
                answer = logits[0, at].argmax() == x[0, at + 1]
                right[depth[int(x[0, at])]] += answer
        found[f"recall {n}"] = right.mean().item() / n_documents
        for part in range(4):
            pair = right[2 * part : 2 * part + 2].mean().item()
            found[f"recall {n}, part {part}"] = pair / n_documents
        if n == LENGTHS[-1]:
            start = 0
            for end in LENGTHS:
                part_of = losses[start : min(end, n_words - 1)]
                found[f"loss to {end}"] = part_of.mean().item() / n_documents
                start = end
    return found


def kept_measure(
    name: str, seed: int, make_model: Callable[[], Model], **options: object
) -> dict[str, float]:
    """What measure says, with the arm's name before it; kept."""
    path = kept(name, seed, ".json")
    if not path.exists():
        start = time.process_time()
        found = measure(make_model(), seed, **options)  # type: ignore[arg-type]
        spent = time.process_time() - start
        print(f"{name}, seed {seed}: measured in {spent:.0f} s", flush=True)
        path.write_text(json.dumps(found), "utf-8")
    kept_before: dict[str, float] = json.loads(path.read_text("utf-8"))
    return {f"{name}: {key}": value for key, value in kept_before.items()}


def stretched(way: str, seed: int) -> Model:
    return with_rotary(best("full", seed), way)


def tuned(way: str, seed: int) -> Model:
    """The full model, stretched in that way, after some longer documents."""
    model = stretched(way, seed)
    return train(model, seed, TUNED, 1e-3, f"{way}, seed {seed}")


STREAMED = {
    "full, rolling": (
        "全部，缓存最后 256 个 | all keys, a cache of the last 256",
        "full",
        ROLLED,
        0,
    ),
    "full, rolling, sinks": (
        "全部，缓存开头 4 个和最后 252 个"
        " | all keys, a cache of the first 4 and the last 252",
        "full",
        ROLLED - N_SINKS,
        N_SINKS,
    ),
    "sinks, rolling": (
        "窗口 64 加 4 个汇点，缓存同样的 68 个"
        " | window of 64 and 4 sinks, a cache of these 68",
        "sinks",
        WINDOW,
        N_SINKS,
    ),
}


def run(seed: int) -> dict[str, float]:
    found: dict[str, float] = {}
    for arm in ARMS:
        found[f"{arm}: rate"] = rate_of(arm)
        found |= kept_measure(arm, seed, partial(best, arm, seed))
    for name, (_, arm, window, n_sinks) in STREAMED.items():
        found |= kept_measure(
            name,
            seed,
            partial(best, arm, seed),
            make=partial(rolling, window=window, n_sinks=n_sinks),
            longest_alone=True,
            n_documents=2,
        )
    for way in list(WAYS)[1:]:
        found |= kept_measure(way, seed, partial(stretched, way, seed))
    for way in WAYS:
        found |= kept_measure(f"{way}, tuned", seed, partial(tuned, way, seed))
    return found


def tables(results: dict[str, list[float]]) -> dict[str, list[list[str]]]:
    def recalls(title: str, name: str) -> list[str]:
        return [
            title,
            *(percent(results[f"{name}: recall {n}"], 0) for n in LENGTHS),
        ]

    def losses(title: str, name: str) -> list[str]:
        return [
            title,
            *(spread(results[f"{name}: loss to {n}"], 2) for n in LENGTHS),
        ]

    by_length = [f"{n:,}" for n in LENGTHS]
    starts = [0, *LENGTHS[:-1]]
    by_position = [
        f"{start:,}–{end:,}"
        for start, end in zip(starts, LENGTHS, strict=True)
    ]
    chance = f"{100 / N_VALUES:.0f}%"
    recall = [["注意力 | attention", *by_length]]
    recall.append(["瞎猜 | guessing", *[chance] * len(LENGTHS)])
    recall += [recalls(title, arm) for arm, title in TITLES.items()]
    depth = [
        [
            "注意力 | attention",
            "最前四分之一 | first quarter",
            "第二 | second",
            "第三 | third",
            "最后 | last",
        ]
    ]
    for arm, title in TITLES.items():
        cells = [
            percent(results[f"{arm}: recall {TUNED}, part {part}"], 0)
            for part in range(4)
        ]
        depth.append([title, *cells])
    loss = [["注意力 | attention", *by_position]]
    loss += [losses(title, arm) for arm, title in TITLES.items()]
    loss += [losses(title, name) for name, (title, *_) in STREAMED.items()]
    ways = [["办法 | method", *by_length]]
    for way, title in WAYS.items():
        name = "full" if way == "as it is" else way
        ways.append(recalls(title, name))
    for way, title in WAYS.items():
        zh, _, en = title.partition(" | ")
        longer = f"{zh}，再训练 | {en or zh}, trained further"
        ways.append(recalls(longer, f"{way}, tuned"))
    return {
        "recall": recall,
        "depths": depth,
        "loss": loss,
        "stretched": ways,
    }


if __name__ == "__main__":
    first, step = map(int, sys.argv[1:])
    for number in [*SEEDS][first::step]:
        run(number)
