"""Windows as masks, and what compiling saves: python -m benchmarks.myths

Prints milliseconds and ratios for the machine it runs on, with the function
of the chapter "Myths" that attends in blocks. The chapter quotes them.
"""

import time
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from benchmarks.sidebyside import introduce, report, side_by_side
from literate.chapter import defined_in


CHAPTER = "docs/chapters/27-myths.md"


@torch.no_grad()
def windows(n: int, w: int, d: int = 64) -> None:
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
    report(f"{n} tokens, window {w}, one head of {d}", side_by_side(entrants))


@torch.no_grad()
def compiling(rows: int = 4096, d: int = 512) -> None:
    x = torch.randn(rows, d)
    up, down = torch.randn(4 * d, d), torch.randn(d, 4 * d)

    def products(x: Tensor) -> Tensor:
        return F.linear(F.linear(x, up), down)

    def small_operations(x: Tensor) -> Tensor:
        return F.gelu(1.1 * F.layer_norm(x, (d,)) + 0.1) + x

    functions: tuple[Callable[[Tensor], Tensor], ...]
    functions = products, small_operations
    for function in functions:
        compiled = torch.compile(function)
        start = time.perf_counter()
        compiled(x)
        first = time.perf_counter() - start
        title = function.__name__.replace("_", " ")
        entrants = {
            "as it is": lambda f=function: f(x),
            "compiled": lambda f=compiled: f(x),
        }
        seconds = side_by_side(entrants)
        report(f"{title} of {rows} x {d}", seconds)
        saved = seconds["as it is"] - seconds["compiled"]
        pays = f"{first / saved:,.0f} calls" if saved > 0 else "no calls"
        print(f"  the first call took {first:.1f} s, made good by {pays}")


def main() -> None:
    introduce()
    torch.manual_seed(0)
    windows(4096, 256)
    compiling()


if __name__ == "__main__":
    main()
