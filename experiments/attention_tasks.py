"""Two tasks for one layer of attention, for "Adaptive attention".

In one, a number is looked up among pairs; in the other, a token is copied from
some way back.
"""

import math
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from attention_book.attention.multi_head import MultiHeadAttention
from attention_book.attention.positions import LearnedPositions
from attention_book.attention.spans import SpanAttention, mean_span
from attention_book.attention.sparse import EagerAttention


class Recall(nn.Module):
    """Finds the number of a label in a memory of pairs, by one head."""

    def __init__(
        self, kind: Callable[..., MultiHeadAttention], d: int = 64
    ) -> None:
        super().__init__()
        self.labels = nn.Embedding(1024, d)
        self.number = nn.Linear(1, d)
        self.attention = kind(d, 1)
        self.head = nn.Linear(d, 1)

    def memory(self, labels: Tensor, numbers: Tensor) -> Tensor:
        return self.labels(labels) + self.number(numbers[..., None])

    def forward(
        self, asked: Tensor, labels: Tensor, numbers: Tensor
    ) -> Tensor:
        query = self.labels(asked)[:, None]
        x = self.attention(query, self.memory(labels, numbers))
        return self.head(x)[:, 0, 0]


def draw_pairs(
    batch: int, n: int, generator: torch.Generator
) -> tuple[Tensor, Tensor, Tensor]:
    """Different labels and their numbers; the first label is asked for."""
    start, step = torch.randint(1024, (2, batch, 1), generator=generator)
    labels = (start + (2 * step + 1) * torch.arange(n)) % 1024
    numbers = 2 * torch.rand(batch, n, generator=generator) - 1
    return labels[:, 0], labels, numbers


def make_optimizer(
    model: nn.Module, rate: float = 5e-3
) -> torch.optim.Optimizer:
    """Adam; what is learnt about a head itself has four times the rate."""
    named = list(model.named_parameters())
    own = [p for name, p in named if name.endswith("_logits")]
    rest = [p for name, p in named if not name.endswith("_logits")]
    groups: list[dict[str, Any]] = [
        {"params": rest},
        {"params": own, "lr": 4 * rate},
    ]
    return torch.optim.Adam(groups, lr=rate)


def train_recall(
    kind: Callable[..., MultiHeadAttention],
    seed: int,
    steps: int = 400,
    rate: float = 5e-3,
) -> Recall:
    """Learn to look up one of 16 pairs."""
    torch.manual_seed(seed)
    model, generator = Recall(kind), torch.Generator().manual_seed(seed)
    optimizer = make_optimizer(model, rate)
    rates = torch.optim.lr_scheduler.LinearLR(optimizer, 1, 0, steps)
    for _ in range(steps):
        asked, labels, numbers = draw_pairs(64, 16, generator)
        loss = F.mse_loss(model(asked, labels, numbers), numbers[:, 0])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        rates.step()
    return model


@torch.no_grad()
def recall(model: Recall, n: int, draw: int = 1000) -> float:
    """Mean absolute error of 200 answers; 0.5 for always answering 0."""
    pairs = draw_pairs(200, n, torch.Generator().manual_seed(draw))
    return F.l1_loss(model(*pairs), pairs[2][:, 0]).item()


def scaled(
    kind: type[EagerAttention], factor: Callable[[int], float]
) -> type[EagerAttention]:
    """Attention whose scores over n keys are multiplied by factor(n)."""

    class Scaled(kind):  # type: ignore[misc,valid-type]
        def weights(self, scores: Tensor, mask: Tensor | None) -> Tensor:
            scores = factor(scores.shape[-1]) * scores
            found: Tensor = super().weights(scores, mask)
            return found

    return Scaled


def log_n(n: int) -> float:
    """1 for the 16 keys of training."""
    return math.log(n) / math.log(16)


class Delay(nn.Module):
    """Names the token 8 positions back."""

    def __init__(self, d: int = 64) -> None:
        super().__init__()
        self.embed = nn.Embedding(8, d)
        self.positions = LearnedPositions(48, d)
        nn.init.normal_(self.positions.table)  # as large as the tokens
        self.attention = SpanAttention(d, 4, max_span=32, ramp=2.0)
        self.head = nn.Linear(d, 8)

    def forward(self, x: Tensor) -> Tensor:
        x = self.positions(self.embed(x))
        return self.head(self.attention(x, is_causal=True))[:, 8:]


def train_delay(
    penalty: float, seed: int, steps: int = 400
) -> tuple[float, list[float]]:
    """Accuracy after training, and the span of each head."""
    torch.manual_seed(seed)
    model = Delay()
    optimizer = make_optimizer(model)
    for _ in range(steps):
        x = torch.randint(8, (32, 48))
        loss = F.cross_entropy(model(x).mT, x[:, :-8])
        optimizer.zero_grad()
        (loss + penalty * mean_span(model)).backward()
        optimizer.step()
    x = torch.randint(8, (200, 48))
    right = model(x).argmax(dim=-1) == x[:, :-8]
    return right.double().mean().item(), model.attention.spans.tolist()
