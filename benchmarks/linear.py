"""Linear attention over the length: python -m benchmarks.linear

The chunked form of the chapter "Linear attention, state spaces and hybrids"
against causal SDPA, forward, and a step of one token with each kind of cache.
Prints milliseconds and ratios; the ratios are written to
results/linear-cpu.json. Times are those of the processor, of one thread, and
the least of a few, so that others on a shared machine disturb them little.
"""

import torch
import torch.nn.functional as F

from attention_book.attention.linear import chunked_linear_attention
from benchmarks.sidebyside import introduce, keep, least, report


LENGTHS = (1024, 2048, 4096, 8192, 16384, 32768)
HEADS = 2
D_K = 64


@torch.no_grad()
def forward(n: int) -> dict[str, float]:
    """Each as a multiple of SDPA on the whole sequence, or on one query."""
    q, k, v = torch.randn(3, 1, HEADS, n, D_K)
    k = F.normalize(k, dim=-1)
    log_decay = F.logsigmoid(torch.randn(1, HEADS, n) + 5)
    beta = torch.rand(1, HEADS, n)
    sdpa = F.scaled_dot_product_attention
    linear = chunked_linear_attention
    rounds = max(3, 65536 // n)
    whole = least(
        {
            "SDPA, is_causal": lambda: sdpa(q, k, v, is_causal=True),
            "decay": lambda: linear(q, k, v, log_decay),
            "gated delta": lambda: linear(q, k, v, log_decay, beta),
        },
        rounds,
    )
    report(f"{n} tokens, {HEADS} heads of {D_K}", whole)
    last = slice(n - 1, n)
    query, key, value = q[:, :, last], k[:, :, last], v[:, :, last]
    state = torch.randn(1, HEADS, D_K, D_K)
    step = least(
        {
            "SDPA": lambda: sdpa(query, k, v),
            "gated delta": lambda: linear(
                query,
                key,
                value,
                log_decay[..., last],
                beta[..., last],
                state,
            ),
        },
        100,
    )
    report(f"one token after {n}", step)
    ratios = {
        name: float(f"{seconds / whole['SDPA, is_causal']:.2g}")
        for name, seconds in whole.items()
    }
    one = step["gated delta"] / step["SDPA"]
    return ratios | {"one token, gated delta": float(f"{one:.2g}")}


def main() -> None:
    torch.set_num_threads(1)
    introduce()
    torch.manual_seed(0)
    found = {f"{n} tokens": forward(n) for n in LENGTHS}
    keep("linear-cpu", ["python -m benchmarks.linear"], {}, **found)


if __name__ == "__main__":
    main()
