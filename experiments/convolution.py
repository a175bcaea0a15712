"""Built-in knowledge against freedom, on little data and on more.

Two questions. Does a convolution need less data than attention because it has
fewer parameters, or because it looks at neighbours only? Then attention of
few parameters, and attention whose heads are held on the neighbours, tell. And
can a convolution do what attention does where the contents decide where to
look? Then two layers with a ReLU between them would.

Each model is trained with four learning rates. Validation sentences choose
the rate, and the step of training whose weights are kept. Models and training
are those of the cells of "Against convolution and recurrence".
"""

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from attention_book.attention.multi_head import merge_heads, split_heads
from experiments.record import spread
from literate.chapter import defined_in


SEEDS = range(3)
RATES = (0.001, 0.003, 0.01, 0.03)  # the peaks of the schedule
SIZES = (10, 100, 1000)  # sentences to train on
VALIDATION = 500
UNSEEN = 2000
MARKED = 3000  # sentences of the second task to train on
CHAPTER = "docs/attention/convolution.md"
PARTS = (
    "multiply_adds",  # for what its cell imports
    "convolve_by_attention",
    "Convolution",
    "Attentive",
)
KINDS = {
    "narrow": "卷积，宽 3 | convolution, width 3",
    "wide": "卷积，宽 31 | convolution, width 31",
    "two, small": "两层卷积，宽 31 | two convolutions, width 31",
    "two": "两层卷积，通道更多 | two convolutions, more channels",
    "small attention": "注意力，宽 12 | attention, width 12",
    "attention": "注意力，宽 48 | attention, width 48",
    "neighbours": "同上，头固定看邻居 | the same, heads held on neighbours",
}


class TwoConvolutions(nn.Module):
    """Two convolutions of width 31 with a ReLU between them."""

    def __init__(self, hidden: int, c: int = 4) -> None:
        super().__init__()
        self.first = nn.Conv1d(c, hidden, 31, padding=15)
        self.second = nn.Conv1d(hidden, c, 31, padding=15)

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.second(self.first(x.mT).relu())
        return y.mT


class Neighbours(nn.Module):
    """Attentive without queries and keys: each head has a neighbour to see."""

    def __init__(self, c: int = 4, d: int = 48) -> None:
        super().__init__()
        self.embed = nn.Linear(c, d)
        self.positions = nn.Parameter(torch.randn(16, d))
        self.value = nn.Linear(d, d)
        self.output = nn.Linear(d, d)
        self.answer = nn.Linear(d, c)

    def forward(self, x: Tensor) -> Tensor:
        values = split_heads(self.value(self.embed(x) + self.positions), 3)
        left, here, right = values.unbind(dim=1)  # (batch, length, d_k) each
        left = F.pad(left, (0, 0, 1, -1))
        right = F.pad(right, (0, 0, -1, 1))
        heads = torch.stack([left, here, right], dim=1)
        y: Tensor = self.answer(self.output(merge_heads(heads)))
        return y


def makers(chapter: dict[str, Any]) -> dict[str, Callable[[], nn.Module]]:
    """What makes the model of each kind."""
    return {
        "narrow": chapter["Convolution"],
        "wide": lambda: chapter["Convolution"](31),
        "two, small": lambda: TwoConvolutions(4),
        "two": lambda: TwoConvolutions(43),
        "small attention": lambda: chapter["Attentive"](d=12),
        "attention": chapter["Attentive"],
        "neighbours": Neighbours,
    }


def marked_token(size: int, seed: int) -> tuple[Tensor, Tensor]:
    """Sentences with one marked token, whose content every token must tell."""
    torch.manual_seed(seed)
    x = torch.randn(size, 16, 4)
    marked = torch.randint(16, (size,))
    x[..., 0] = F.one_hot(marked, 16)
    return x, x[torch.arange(size), marked][:, None].expand(-1, 16, -1)


@torch.no_grad()
def error(model: nn.Module, x: Tensor, y: Tensor) -> float:
    return F.mse_loss(model(x), y).item()


def fit(
    chapter: dict[str, Any],
    make: Callable[[], nn.Module],
    size: int,
    data: tuple[Tensor, Tensor, Tensor],
    seed: int,
) -> dict[str, float]:
    """Train on `size` sentences, which validation and new sentences follow."""
    x, y, given = data  # given: the answers to learn from, with noise if any
    cut = size + VALIDATION
    tried = []
    for rate in RATES:
        torch.manual_seed(seed)
        model, best = chapter["train"](
            make(),
            (x[:size], given[:size]),
            (x[size:cut], given[size:cut]),
            rate,
            seed,
        )
        tried.append((best, rate, model))
    _, rate, model = min(tried, key=lambda found: found[0])
    return {
        "rate": rate,
        "fitted": error(model, x[:size], given[:size]),
        "": error(model, x[cut:], y[cut:]),
    }


def run(seed: int) -> dict[str, float]:
    chapter = defined_in(CHAPTER, *PARTS)
    found: dict[str, float] = {}
    for kind, make in makers(chapter).items():
        found[f"{kind}, parameters"] = sum(
            p.numel() for p in make().parameters()
        )
        tasks = {}
        for size in SIZES:
            count = size + VALIDATION + UNSEEN
            data = chapter["noisy_convolution"](count, seed)
            tasks[str(size)] = fit(chapter, make, size, data, seed)
        x, y = marked_token(MARKED + VALIDATION + UNSEEN, seed)
        tasks["marked"] = fit(chapter, make, MARKED, (x, y, y), seed)
        for task, results in tasks.items():
            for what, value in results.items():
                found[f"{kind}, {task}, {what}".removesuffix(", ")] = value
    return found


def tables(results: dict[str, list[float]]) -> dict[str, list[list[str]]]:
    head = ["模型 | model", "参数 | parameters"]
    begin = {
        kind: [title, f"{results[f'{kind}, parameters'][0]:,.0f}"]
        for kind, title in KINDS.items()
    }
    data = [
        [
            *begin[kind],
            *(spread(results[f"{kind}, {size}"], 4) for size in SIZES),
        ]
        for kind in KINDS
    ]
    marked = [
        [*begin[kind], spread(results[f"{kind}, marked"], 3)] for kind in KINDS
    ]
    sizes = [f"{size:,} 个句子 | {size:,} sentences" for size in SIZES]
    return {
        "data": [[*head, *sizes], *data],
        "marked": [[*head, "误差 | error"], *marked],
    }
