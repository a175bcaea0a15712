"""Built-in knowledge against freedom, on little data and on more.

Models and training are those of the cells of "Against convolution and
recurrence".
"""

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from experiments.record import spread
from literate.chapter import defined_in


SEEDS = range(5)
SIZES = (10, 100, 1000)  # sentences to train on
UNSEEN = 2000
MARKED = 3000  # sentences of the second task to train on
CHAPTER = "docs/attention/convolution.md"
PARTS = (
    "layers_needed",  # for what its cell imports
    "convolve_by_attention",
    "multiply_adds",
    "Convolution",
    "Attentive",
)
KINDS = {
    "narrow": "卷积，宽 3 | convolution, width 3",
    "wide": "卷积，宽 31 | convolution, width 31",
    "attention": "注意力 | attention",
}


def makers(chapter: dict[str, Any]) -> dict[str, Callable[[], nn.Module]]:
    """What makes the model of each kind."""
    return {
        "narrow": chapter["Convolution"],
        "wide": lambda: chapter["Convolution"](31),
        "attention": chapter["Attentive"],
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


def run(seed: int) -> dict[str, float]:
    chapter = defined_in(CHAPTER, *PARTS)
    found = {}
    for kind, make in makers(chapter).items():
        for size in SIZES:
            x, y, noisy = chapter["noisy_convolution"](size + UNSEEN, seed)
            torch.manual_seed(seed)
            model = chapter["train"](make(), x[:size], noisy[:size], seed)
            found[f"{kind}, {size}, fitted"] = error(
                model, x[:size], noisy[:size]
            )
            found[f"{kind}, {size}"] = error(model, x[size:], y[size:])
        x, y = marked_token(MARKED + UNSEEN, seed)
        torch.manual_seed(seed)
        model = chapter["train"](make(), x[:MARKED], y[:MARKED], seed)
        found[f"{kind}, marked"] = error(model, x[MARKED:], y[MARKED:])
    return found


def tables(results: dict[str, list[float]]) -> dict[str, list[list[str]]]:
    head = ["模型 | model"]
    head += [f"{size:,} 个句子 | {size:,} sentences" for size in SIZES]
    data = [
        [
            title,
            *(spread(results[f"{kind}, {size}"], 4) for size in SIZES),
        ]
        for kind, title in KINDS.items()
    ]
    marked = [
        [title, spread(results[f"{kind}, marked"], 3)]
        for kind, title in KINDS.items()
    ]
    return {
        "data": [head, *data],
        "marked": [["模型 | model", "误差 | error"], *marked],
    }
