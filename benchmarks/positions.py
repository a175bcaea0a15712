"""ALiBi with a table and without one: python -m benchmarks.positions

Prints milliseconds and ratios for the machine it runs on. The chapter "Fused
attention" explains how causality does without the table.
"""

import torch
from torch import Tensor

from attention_book import ALiBiAttention, causal_mask
from benchmarks.sidebyside import introduce, report, side_by_side


WIDTH = 512
HEADS = 8


def causal_alibi(n: int) -> None:
    """With a causal mask that is given as a mask, the layer makes a table."""
    layer = ALiBiAttention(WIDTH, HEADS)
    mask = causal_mask(n)
    x = torch.randn(1, n, WIDTH)

    def table() -> Tensor:
        return layer(x, mask=mask)

    def features() -> Tensor:
        return layer(x, is_causal=True)

    rounds = max(3, 2048 // n)
    with torch.no_grad():
        entrants = {"table": table, "features": features}
        report(f"forward: {n} tokens", side_by_side(entrants, rounds=rounds))
    steps = {
        "table": lambda: table().sum().backward(),
        "features": lambda: features().sum().backward(),
    }
    title = f"forward + backward: {n} tokens"
    report(title, side_by_side(steps, rounds=rounds))


def main() -> None:
    introduce()
    torch.manual_seed(0)
    for n in (64, 512, 4096):
        causal_alibi(n)


if __name__ == "__main__":
    main()
