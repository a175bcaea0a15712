"""The book's kernel beside PyTorch's: python -m benchmarks.flash

Causal attention in bf16, forward and with gradients, all kernels in one run
and in turn. What is wanted of ours is 70 % of the speed of the fastest. It
takes a GPU; with --dry-run the CPU does, in Triton's interpreter, and the
numbers mean nothing.
"""

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import torch
from torch import Tensor

from attention_book.compute import (
    ComputeConfig,
    Kernel,
    compute_context,
    get_compute_config,
)
from benchmarks.sidebyside import device_name, introduce, keep, side_by_side


KERNELS: tuple[Kernel, ...] = ("flash", "cudnn", "efficient", "math")
WANTED = 0.7


class Sizes(NamedTuple):
    """What is measured: widths of heads, and lengths."""

    widths: tuple[int, ...] = (64, 128)
    lengths: tuple[int, ...] = (1024, 4096, 16_384)
    tokens: int = 16_384  # in a batch
    d_model: int = 2048
    rounds: int = 20


DRY_RUN = Sizes((16,), (8,), 8, 32, 1)


def forward(attend: Callable[..., Tensor], x: Tensor, _: Tensor) -> None:
    with torch.no_grad():
        attend(x, x, x, is_causal=True)


def training(attend: Callable[..., Tensor], x: Tensor, grad: Tensor) -> None:
    q, k, v = (x.detach().requires_grad_() for _ in "qkv")
    output = attend(q, k, v, is_causal=True)
    torch.autograd.grad(output, (q, k, v), grad)


def by_kernel(compute: ComputeConfig, run: Callable[[], None]) -> None:
    with compute_context(compute):
        run()


def entrants(
    pass_: Callable[..., None], x: Tensor, compute: ComputeConfig
) -> dict[str, Callable[[], None]]:
    """Ours, and each of PyTorch's that the device has, if it fits."""
    from attention_book import flash_attention

    grad = torch.randn_like(x)
    sdpa = torch.nn.functional.scaled_dot_product_attention
    found = {"ours": partial(pass_, flash_attention, x, grad)}
    for kernel in KERNELS:
        if kernel == "math" and x.shape[-2] > 4096:
            continue
        try:
            one = get_compute_config(compute.device, compute.precision, kernel)
        except ValueError:
            continue
        run = partial(pass_, sdpa, x, grad)
        found[kernel] = partial(by_kernel, one, run)
    return found


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Kernels of attention")
    parser.add_argument("--dry-run", action="store_true")
    options = parser.parse_args(arguments)
    sizes = DRY_RUN if options.dry_run else Sizes()
    if options.dry_run:
        os.environ.setdefault("TRITON_INTERPRET", "1")
    elif not torch.cuda.is_available():
        sys.exit("no GPU here; --dry-run goes through all of it on the CPU")
    device = "cpu" if options.dry_run else "cuda"
    compute = get_compute_config(device, "fp32" if options.dry_run else "bf16")
    introduce(compute)
    found = {}
    for d in sizes.widths:
        for n in sizes.lengths:
            heads = sizes.d_model // d
            shape = sizes.tokens // n, heads, n, d
            x = torch.randn(shape, device=compute.device, dtype=compute.dtype)
            products = 4 * sizes.tokens * heads * n * d / 2  # half is hidden
            for pass_, flops in (
                (forward, products),
                (training, 3.5 * products),
            ):
                runs = entrants(pass_, x, compute)
                times = side_by_side(runs, sizes.rounds, compute)
                best = min(times.values())
                for name, took in times.items():
                    row = f"{pass_.__name__}, width {d}, {n} tokens, {name}"
                    found[row] = took
                    print(
                        f"{row:46}{took * 1e3:9.3f} ms "
                        f"{flops / took / 1e12:7.1f} TFLOP/s "
                        f"{best / took:6.0%} of the best"
                    )
                if best / times["ours"] < WANTED:
                    print(f"  ours is below the {WANTED:.0%} wanted")
    if options.dry_run:
        print("a dry run: the numbers mean nothing, and none is kept")
        return
    name = f"flash-{device_name(compute, short=True)}"
    keep(name, ["python -m benchmarks.flash"], {}, compute, seconds=found)


if __name__ == "__main__":
    main()
