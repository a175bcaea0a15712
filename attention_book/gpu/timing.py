# Made from docs/chapters/20-gpu.md (aaeab3d4e887). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
import statistics
import time
from collections.abc import Callable

import torch

from attention_book.gpu.roofline import Roofline
from attention_book.runtime import ComputeConfig, compute_context


def seconds(
    work: Callable[[], object], compute: ComputeConfig, rounds: int = 10
) -> float:
    """Median time of a call, waiting until the device is done."""
    times = []
    for number in range(rounds + 2):
        wait(compute)
        start = time.perf_counter()
        work()
        wait(compute)
        times += [time.perf_counter() - start] if number >= 2 else []
    return statistics.median(times)


def wait(compute: ComputeConfig) -> None:
    """Wait until the device has done what was asked of it."""
    if compute.device.type == "cuda":
        torch.cuda.synchronize(compute.device)
    if compute.device.type == "mps":
        torch.mps.synchronize()


def measure_roofline(compute: ComputeConfig, width: int = 1024) -> Roofline:
    """Measure what the device does at best: a square product, a copy.

    Args:
        compute: Says where, and in which precision.
        width: Of the product; 8192 fills a large GPU.
    """
    x = torch.randn(width, width, device=compute.device, dtype=compute.dtype)
    many = torch.zeros(2**25, device=compute.device)  # 128 MiB
    room = torch.empty_like(many)
    with compute_context(compute), torch.no_grad():
        product = seconds(lambda: x @ x, compute)
        copied = seconds(lambda: room.copy_(many), compute)
    n_bytes = 2 * many.numel() * many.element_size()
    return Roofline(2 * width**3 / product, n_bytes / copied)
