"""Attention, recurrence and convolution: python -m benchmarks.convolution

Prints milliseconds, ratios and growth exponents for the machine it runs on.
The chapter "Against convolution and recurrence" quotes them.
"""

import math

import torch
from torch import nn

from attention_book import MultiHeadAttention
from benchmarks.sidebyside import introduce, report, side_by_side


LENGTHS = (64, 128, 256, 512, 1024, 2048, 4096)


@torch.no_grad()
def forward(d: int) -> None:
    attention = MultiHeadAttention(d, d // 64)
    gru = nn.GRU(d, d, batch_first=True)
    convolution = nn.Conv1d(d, d, 3, padding=1)
    rows: dict[str, list[float]] = {}
    for n in LENGTHS:
        x = torch.randn(1, n, d)
        entrants = {
            "GRU": lambda x=x: gru(x),
            "attention": lambda x=x: attention(x),
            "convolution, width 3": lambda x=x: convolution(x.mT),
        }
        seconds = side_by_side(entrants, rounds=max(5, 4096 // n))
        report(f"forward: one sentence of {n} tokens, width {d}", seconds)
        for name, time in seconds.items():
            rows.setdefault(name, []).append(time)
    for name, row in rows.items():
        exponents = [
            math.log(row[i + 2] / row[i], 4) for i in range(len(row) - 2)
        ]
        print(f"{name:22} n^", *(f"{e:.1f}" for e in exponents))


def main() -> None:
    introduce()
    torch.manual_seed(0)
    for d in (64, 512):
        forward(d)


if __name__ == "__main__":
    main()
