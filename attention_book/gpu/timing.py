# Made from docs/chapters/20-gpu.md (01e13eaf9de4). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
import statistics
import time
from collections.abc import Callable

import torch

from attention_book.gpu.roofline import Roofline
from attention_book.runtime import ComputeConfig, compute_context


__all__ = ["measure_roofline", "median_time", "synchronize"]


def median_time(
    function: Callable[[], object], compute: ComputeConfig, rounds: int = 10
) -> float:
    """Median seconds of a call, after two calls to warm up.

    Args:
        function: What to time; it is called without arguments.
        compute: The device that is waited for before and after each call.
        rounds: How many calls count.
    """
    times = []
    for _ in range(rounds + 2):
        synchronize(compute)
        start = time.perf_counter()
        function()
        synchronize(compute)
        times.append(time.perf_counter() - start)
    return statistics.median(times[2:])


def synchronize(compute: ComputeConfig) -> None:
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
    source = torch.zeros(2**25, device=compute.device)  # 128 MiB
    target = torch.empty_like(source)
    with compute_context(compute), torch.no_grad():
        product_time = median_time(lambda: x @ x, compute)
        copy_time = median_time(lambda: target.copy_(source), compute)
    n_bytes = 2 * source.numel() * source.element_size()
    return Roofline(2 * width**3 / product_time, n_bytes / copy_time)
