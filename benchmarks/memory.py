"""What attention adds to the memory of a process: python -m benchmarks.memory

Each entrant runs in a process of its own, forward and backward, causal, and
the growth of its peak is what the operating system counts. Linux only.
"""

import multiprocessing
from pathlib import Path

import torch
import torch.nn.functional as F

from attention_book import (
    causal_mask,
    fused_attention,
    scaled_dot_product_attention,
)
from benchmarks.sidebyside import introduce


N = 4096
HEADS = 8
D_K = 64


def resident(kind: str) -> float:
    """MiB of this process: VmRSS is now, VmHWM the peak."""
    status = Path("/proc/self/status").read_text()
    (line,) = (row for row in status.splitlines() if row.startswith(kind))
    return int(line.split()[1]) / 1024


def attend(name: str, x: torch.Tensor) -> torch.Tensor:
    sdpa = F.scaled_dot_product_attention
    if name == "SDPA, is_causal":
        return sdpa(x, x, x, is_causal=True)
    if name == "SDPA, boolean triangle":
        return sdpa(x, x, x, attn_mask=causal_mask(x.shape[-2]))
    if name == "fused_attention, is_causal":
        return fused_attention(x, x, x, is_causal=True)
    if name == "step by step":
        return scaled_dot_product_attention(x, x, x, causal_mask(x.shape[-2]))[
            0
        ]
    raise ValueError(name)


def grown(name: str) -> float:
    """MiB that one forward and backward pass adds to the peak."""
    torch.manual_seed(0)
    small = torch.randn(1, HEADS, 64, D_K, requires_grad=True)
    attend(name, small).sum().backward()
    x = torch.randn(1, HEADS, N, D_K, requires_grad=True)
    gradient = torch.randn_like(x)
    Path("/proc/self/clear_refs").write_text("5")  # the peak starts anew
    before = resident("VmRSS")
    attend(name, x).backward(gradient)
    return resident("VmHWM") - before


def main() -> None:
    introduce()
    print(f"forward + backward, causal: {HEADS} heads, {N} tokens")
    names = (
        "SDPA, is_causal",
        "fused_attention, is_causal",
        "SDPA, boolean triangle",
        "step by step",
    )
    spawn = multiprocessing.get_context("spawn")
    first = 0.0
    for name in names:
        with spawn.Pool(1) as pool:
            mib = pool.apply(grown, (name,))
        first = first or mib
        print(f"  {name:34} {mib:9.0f} MiB {mib / first:7.2f} x")


if __name__ == "__main__":
    main()
