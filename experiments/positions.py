"""How positions are told, and texts longer than in training.

Small language models read Python's help pages, character by character. They
differ in their positions alone, among which is T5's relative bias. What is
asked: is a kind that is no worse at the length of training so beyond it? All
have one learning rate, which was not tuned for each.
"""

import math
from collections.abc import Callable
from pydoc_data.topics import topics

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from attention_book.attention.caches import KeyValue
from attention_book.attention.multi_head import MultiHeadAttention
from attention_book.attention.positions import (
    ALiBiAttention,
    LearnedPositions,
    RotaryAttention,
    SinusoidalPositions,
)
from experiments.record import spread


SEEDS = range(5)
LENGTHS = (32, 64, 128, 512)  # of which training has the first
TEXT = "\n".join(topics[name] for name in sorted(topics))
DATA = torch.tensor(list(TEXT.encode("ascii", "replace")))
TRAIN_DATA = DATA[:-60_000]
TEST_DATA = DATA[-60_000:]
ENDS = torch.randint(  # where a text that is read ends
    512,
    len(TEST_DATA) - 1,
    (256, 1),
    generator=torch.Generator().manual_seed(1),
)
KINDS = {
    "none": "没有位置 | none",
    "sinusoidal, large": "正弦，大小 0.71 | sinusoidal, size 0.71",
    "sinusoidal": "正弦，大小 0.2 | sinusoidal, size 0.2",
    "learned": "学出来的 | learnt",
    "rotary": "旋转 | rotary",
    "relative bias": "T5 相对偏置 | T5's relative bias",
    "ALiBi": "ALiBi",
}


class Layer(nn.Module):
    """Attention and a small network, each added to its input."""

    def __init__(self, attention: nn.Module, d: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(d)
        self.attention = attention
        self.network = nn.Sequential(
            nn.LayerNorm(d),
            nn.Linear(d, 4 * d),
            nn.GELU(),
            nn.Linear(4 * d, d),
        )

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.attention(self.norm(x), is_causal=True)
        return x + self.network(x)


def language_model(
    attention: Callable[[int, int], nn.Module] = MultiHeadAttention,
    positions: nn.Module | None = None,
    d: int = 64,
) -> nn.Sequential:
    embedding = nn.Embedding(128, d)  # one vector for each ASCII character
    nn.init.normal_(embedding.weight, std=0.2)
    return nn.Sequential(
        embedding,
        positions or nn.Identity(),
        Layer(attention(d, 4), d),
        Layer(attention(d, 4), d),
        nn.LayerNorm(d),
        nn.Linear(d, 128),
    )


def train(
    model: nn.Sequential,
    seed: int,
    n_steps: int = 400,
    length: int = LENGTHS[0],
    rate: float = 4e-3,
) -> nn.Sequential:
    optimizer = torch.optim.AdamW(model.parameters(), rate, fused=True)
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, rate, total_steps=n_steps
    )
    torch.manual_seed(seed)
    for _ in range(n_steps):
        starts = torch.randint(len(TRAIN_DATA) - length, (1024 // length, 1))
        batch = TRAIN_DATA[starts + torch.arange(length + 1)]
        logits = model(batch[:, :-1])
        loss = F.cross_entropy(logits.flatten(0, 1), batch[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
    return model


@torch.no_grad()
def loss_after(model: nn.Module, length: int) -> float:
    """Mean loss of the last 8 characters, when `length` are read."""
    total = 0.0
    for end in ENDS.split(32):
        batch = TEST_DATA[end + torch.arange(-length, 1)]
        logits = model(batch[:, :-1])[:, -8:]
        targets = batch[:, -8:].flatten()
        total += F.cross_entropy(logits.flatten(0, 1), targets).item()
    return total / 8


class RelativeBiasAttention(MultiHeadAttention):
    """T5's attention, here causal.

    Distances of 0 to 7 have a bias each, those of 8 to 20 share seven, and
    all from 21 on the last, so that training sees every one of them.
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


def makers() -> dict[str, Callable[[], nn.Sequential]]:
    """What makes the model of each kind."""
    model = language_model
    return {
        "none": model,
        "sinusoidal, large": lambda: model(positions=SinusoidalPositions(64)),
        "sinusoidal": lambda: model(positions=SmallSinusoids(64)),
        "learned": lambda: model(positions=LearnedPositions(LENGTHS[0], 64)),
        "rotary": lambda: model(RotaryAttention),
        "relative bias": lambda: model(RelativeBiasAttention),
        "ALiBi": lambda: model(ALiBiAttention),
    }


def shuffled(model: nn.Module) -> float:
    """By how much shuffling what was read raises the loss of the next.

    Read are 16 characters, of which the last stays where it is; each of the
    texts is shuffled in its own way, the same for all models.
    """
    generator = torch.Generator().manual_seed(0)
    order = torch.rand(len(ENDS), 15, generator=generator).argsort(dim=1)
    in_order = torch.arange(-16, 0).expand(len(ENDS), -1)
    mixed = torch.cat([order - 16, in_order[:, -1:]], dim=1)
    losses = []
    for offsets in (in_order, mixed):
        with torch.no_grad():
            logits = model(TEST_DATA[ENDS + offsets])[:, -1]
        following = TEST_DATA[ENDS[:, 0]]
        losses.append(F.cross_entropy(logits, following).item())
    return losses[1] - losses[0]


def run(seed: int) -> dict[str, float]:
    found = {}
    for kind, make in makers().items():
        torch.manual_seed(seed)
        model = train(make(), seed)
        for length in LENGTHS if kind != "learned" else LENGTHS[:1]:
            found[f"{kind}, {length}"] = loss_after(model, length)
        found[f"{kind}, shuffled"] = shuffled(model)
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
    return {"losses": losses}
