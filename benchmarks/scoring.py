"""What the ways of scoring cost: python -m benchmarks.scoring

Prints milliseconds and ratios for the machine it runs on. The chapter "Scoring
functions" quotes them.
"""

import platform

import torch
import torch.nn.functional as F

from attention_book import (
    AdditiveAttention,
    causal_mask,
    dot_product_attention,
    fused_attention,
    padding_mask,
    scaled_dot_product_attention,
)
from benchmarks.sidebyside import report, side_by_side


@torch.no_grad()
def main() -> None:
    print(f"torch {torch.__version__}, {torch.get_num_threads()} threads,")
    print(platform.processor() or platform.machine())
    torch.manual_seed(0)

    n, d = 256, 64
    x = torch.randn(8, n, d)
    additive = AdditiveAttention(d_query=d, d_key=d, d_attn=d)
    report(
        f"scoring: batch 8, {n} queries and keys, width {d}",
        side_by_side(
            {
                "dot product": lambda: dot_product_attention(x, x, x),
                "additive": lambda: additive(x, x, x),
            }
        ),
    )

    for n in (512, 2048, 4096):
        q, k, v = torch.randn(3, 1, 8, n, 64)
        mask = causal_mask(n)
        lengths = padding_mask(torch.tensor([3 * n // 4]), n)
        sdpa = F.scaled_dot_product_attention
        report(
            f"causal: batch 1, 8 heads, {n} tokens, width 64",
            side_by_side(
                {
                    "SDPA, is_causal": lambda: sdpa(q, k, v, is_causal=True),
                    "fused_attention, is_causal": lambda: fused_attention(
                        q, k, v, is_causal=True
                    ),
                    "fused_attention, boolean triangle": lambda: (
                        fused_attention(q, k, v, mask)
                    ),
                    "scaled_dot_product_attention": lambda: (
                        scaled_dot_product_attention(q, k, v, mask)
                    ),
                },
                rounds=7,
            ),
        )
        report(
            f"padded: batch 1, 8 heads, {n} tokens, width 64",
            side_by_side(
                {
                    "SDPA, mask": lambda: sdpa(q, k, v, attn_mask=lengths),
                    "fused_attention, mask": lambda: fused_attention(
                        q, k, v, lengths
                    ),
                },
                rounds=7,
            ),
        )


if __name__ == "__main__":
    main()
