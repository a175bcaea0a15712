"""What the ways of scoring cost: python -m benchmarks.scoring

Prints milliseconds and ratios. The ratios, which the chapter "Scoring
functions" and the page "Fused attention" quote, are written to
results/scoring-cpu.json.
"""

from collections.abc import Callable, Mapping

import torch
import torch.nn.functional as F

from attention_book.attention.functional import (
    AdditiveAttention,
    causal_mask,
    padding_mask,
    scaled_dot_product_attention,
)
from attention_book.attention.fused import fused_attention
from benchmarks.sidebyside import introduce, keep, report, side_by_side


LENGTHS = (128, 512, 2048, 4096)


def ratios(
    title: str, entrants: Mapping[str, Callable[[], object]], rounds: int
) -> dict[str, float]:
    """How long each takes, in units of the first."""
    seconds = side_by_side(entrants, rounds)
    report(title, seconds)
    unit, *_ = seconds.values()
    return {name: float(f"{s / unit:.2g}") for name, s in seconds.items()}


def scores(n: int, d: int) -> dict[str, float]:
    x = torch.randn(8, n, d)
    additive = AdditiveAttention(d_query=d, d_key=d, d_attn=d)
    entrants = {
        "dot product": lambda: scaled_dot_product_attention(x, x, x),
        "additive": lambda: additive(x, x, x),
    }
    title = f"scores: batch 8, {n} queries and keys, width {d}"
    return ratios(title, entrants, rounds=20)


def causal(n: int) -> dict[str, float]:
    q, k, v = torch.randn(3, 1, 8, n, 64)
    mask = causal_mask(n)
    sdpa = F.scaled_dot_product_attention
    entrants = {
        "fused, is_causal": lambda: fused_attention(q, k, v, is_causal=True),
        "fused, boolean triangle": lambda: fused_attention(q, k, v, mask),
        "SDPA, is_causal": lambda: sdpa(q, k, v, is_causal=True),
        "step by step": lambda: scaled_dot_product_attention(q, k, v, mask),
    }
    title = f"causal: 8 heads, {n} tokens, width 64"
    return ratios(title, entrants, rounds=max(7, 40_960 // n))


def padded(n: int) -> dict[str, float]:
    q, k, v = torch.randn(3, 4, 8, n, 64)
    mask = padding_mask(torch.tensor([n, n // 2, n // 3, n // 4]), n)
    sdpa = F.scaled_dot_product_attention
    entrants = {
        "SDPA, padding": lambda: sdpa(q, k, v, attn_mask=mask),
        "fused, padding": lambda: fused_attention(q, k, v, mask),
    }
    title = f"padded: batch 4, 8 heads, {n} tokens, width 64"
    return ratios(title, entrants, rounds=max(7, 20_480 // n))


@torch.no_grad()
def main() -> None:
    introduce()
    torch.manual_seed(0)
    keep(
        "scoring-cpu",
        ["python", "-m", "benchmarks.scoring"],
        {},
        scores=scores(256, 64),
        causal={f"{n} tokens": causal(n) for n in LENGTHS},
        padded={f"{n} tokens": padded(n) for n in LENGTHS},
    )


if __name__ == "__main__":
    main()
