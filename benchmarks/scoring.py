"""What the ways of scoring cost: python -m benchmarks.scoring

Prints milliseconds and ratios for the machine it runs on. The chapter "Scoring
functions" quotes the ratios.
"""

import torch
import torch.nn.functional as F

from attention_book.attention.functional import (
    AdditiveAttention,
    causal_mask,
    padding_mask,
    scaled_dot_product_attention,
)
from attention_book.attention.fused import fused_attention
from benchmarks.sidebyside import introduce, report, side_by_side


def scores(n: int, d: int) -> None:
    x = torch.randn(8, n, d)
    additive = AdditiveAttention(d_query=d, d_key=d, d_attn=d)
    entrants = {
        "dot product": lambda: scaled_dot_product_attention(x, x, x),
        "additive": lambda: additive(x, x, x),
    }
    title = f"scores: batch 8, {n} queries and keys, width {d}"
    report(title, side_by_side(entrants))


def causal(n: int) -> None:
    q, k, v = torch.randn(3, 1, 8, n, 64)
    mask = causal_mask(n)
    sdpa = F.scaled_dot_product_attention
    entrants = {
        "SDPA, is_causal": lambda: sdpa(q, k, v, is_causal=True),
        "fused, is_causal": lambda: fused_attention(q, k, v, is_causal=True),
        "fused, boolean triangle": lambda: fused_attention(q, k, v, mask),
        "step by step": lambda: scaled_dot_product_attention(q, k, v, mask),
    }
    title = f"causal: 8 heads, {n} tokens, width 64"
    report(title, side_by_side(entrants, rounds=max(7, 40_960 // n)))


def padded(n: int) -> None:
    q, k, v = torch.randn(3, 4, 8, n, 64)
    mask = padding_mask(torch.tensor([n, n // 2, n // 3, n // 4]), n)
    sdpa = F.scaled_dot_product_attention
    entrants = {
        "SDPA, mask": lambda: sdpa(q, k, v, attn_mask=mask),
        "fused, mask": lambda: fused_attention(q, k, v, mask),
    }
    title = f"padded: batch 4, 8 heads, {n} tokens, width 64"
    report(title, side_by_side(entrants, rounds=max(7, 20_480 // n)))


@torch.no_grad()
def main() -> None:
    introduce()
    torch.manual_seed(0)
    scores(256, 64)
    for n in (128, 512, 2048, 4096):
        causal(n)
    for n in (128, 512, 2048, 4096):
        padded(n)


if __name__ == "__main__":
    main()
