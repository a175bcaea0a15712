"""Windows as masks, and what compiling saves: python -m benchmarks.myths

Prints milliseconds and ratios for the machine it runs on, with the function
of the chapter "Myths" that attends in blocks. The chapter quotes the ratios;
they are written to results/myths-cpu.json. Times are those of the processor,
of one thread, and the least of many, so that others on a shared machine
disturb them little.
"""

import time

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel

from benchmarks.sidebyside import introduce, keep, least, report
from literate.chapter import defined_in


CHAPTER = "docs/trust/myths.md"


@torch.no_grad()
def windows(n: int, w: int, d: int = 64) -> dict[str, float]:
    """Each as a multiple of attention to all tokens, in the same kernel."""
    in_blocks = defined_in(CHAPTER, "window_in_blocks")["window_in_blocks"]
    q, k, v = torch.randn(3, 1, 1, n, d)  # fused where there are 4 axes
    mask = torch.ones(n, n, dtype=torch.bool).tril().triu(1 - w)
    sdpa = F.scaled_dot_product_attention
    entrants = {
        "all tokens": lambda: sdpa(q, k, v),
        "the past, is_causal": lambda: sdpa(q, k, v, is_causal=True),
        "a window, as a boolean mask": lambda: sdpa(q, k, v, mask),
        "a window, in blocks": lambda: in_blocks(q[0, 0], k[0, 0], v[0, 0], w),
    }
    with sdpa_kernel(SDPBackend.FLASH_ATTENTION):  # or an error
        seconds = least(entrants)
    report(f"{n} tokens, window {w}, one head of {d}", seconds)
    whole = seconds["all tokens"]
    return {name: round(s / whole, 2) for name, s in seconds.items()}


@torch.no_grad()
def compiling(rows: int = 4096, d: int = 512) -> dict[str, float]:
    """The time compiled over the time as it is."""
    x = torch.randn(rows, d)
    up, down = torch.randn(4 * d, d), torch.randn(d, 4 * d)

    def products(x: Tensor) -> Tensor:
        return F.linear(F.linear(x, up), down)

    def small_operations(x: Tensor) -> Tensor:
        return F.gelu(1.1 * F.layer_norm(x, (d,)) + 0.1) + x

    found = {}
    for function, rounds in ((products, 31), (small_operations, 501)):
        compiled = torch.compile(function)
        start = time.perf_counter()
        compiled(x)
        first = time.perf_counter() - start
        title = function.__name__.replace("_", " ")
        entrants = {
            "as it is": lambda f=function: f(x),
            "compiled": lambda f=compiled: f(x),
        }
        seconds = least(entrants, rounds)
        report(f"{title} of {rows} x {d}", seconds)
        saved = seconds["as it is"] - seconds["compiled"]
        pays = f"{first / saved:,.0f} calls" if saved > 0 else "no calls"
        print(f"  the first call took {first:.1f} s, made good by {pays}")
        found[title] = round(seconds["compiled"] / seconds["as it is"], 2)
    return found


def main() -> None:
    torch.set_num_threads(1)
    introduce()
    torch.manual_seed(0)
    found = {"windows": windows(4096, 256), "compiled": compiling()}
    # these wait for memory, and on a shared machine differ from run to run
    del found["compiled"]["small operations"]
    keep("myths-cpu", ["python -m benchmarks.myths"], {}, **found)


if __name__ == "__main__":
    main()
