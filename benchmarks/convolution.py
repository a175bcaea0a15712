"""Attention, recurrence and convolution: python -m benchmarks.convolution

Prints milliseconds, and each as a multiple of the GRU's. The chapter "Against
convolution and recurrence" quotes the multiples; they are written to
results/convolution-cpu.json.
"""

import torch
from torch import nn

from attention_book import MultiHeadAttention
from benchmarks.sidebyside import introduce, keep, report, side_by_side


SIZES = ((1, 64), (1, 512), (1, 4096), (32, 64), (32, 512))  # batch, length
WIDTHS = (64, 512)


@torch.no_grad()
def forward(d: int) -> dict[str, dict[str, float]]:
    """How long each takes, by size, in units of the GRU's time."""
    attention = MultiHeadAttention(d, d // 64)
    gru = nn.GRU(d, d, batch_first=True)
    convolution = nn.Conv1d(d, d, 3, padding=1)
    found = {}
    for batch, n in SIZES:
        x = torch.randn(batch, n, d)
        entrants = {
            "GRU": lambda x=x: gru(x),
            "attention": lambda x=x: attention(x),
            "convolution, width 3": lambda x=x: convolution(x.mT),
        }
        seconds = side_by_side(entrants, rounds=max(9, 2048 // (batch * n)))
        report(f"forward: batch {batch}, {n} tokens, width {d}", seconds)
        unit = seconds.pop("GRU")
        found[f"batch {batch}, {n} tokens"] = {
            name: float(f"{time / unit:.2g}") for name, time in seconds.items()
        }
    return found


def main() -> None:
    introduce()
    torch.manual_seed(0)
    keep(
        "convolution-cpu",
        ["python", "-m", "benchmarks.convolution"],
        {},
        **{f"width {d}": forward(d) for d in WIDTHS},
    )


if __name__ == "__main__":
    main()
