# Made from docs/source/compute.md (fd5e4480a031). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""Timing on a device. Explained on the page "Devices and precision"."""

import math
import statistics
import time
from collections.abc import Callable

import torch

from attention_book.compute import ComputeConfig, compute_context
from attention_book.profiling.roofline import Roofline


__all__ = ["measure_roofline", "median_time"]

_MIN_ROUND = 0.01  # seconds


def _time_calls(
    function: Callable[[], object], n_calls: int, compute: ComputeConfig
) -> float:
    """Seconds that so many calls take, until the device has done them."""
    before = _clock(compute)
    for _ in range(n_calls):
        function()
    return _clock(compute) - before


def _clock(compute: ComputeConfig) -> float:
    """The time when the device has done what was asked of it."""
    if compute.device.type != "cpu":
        torch.accelerator.synchronize(compute.device)
    return time.perf_counter()


def median_time(
    function: Callable[[], object],
    compute: ComputeConfig,
    rounds: int = 10,
    n_calls: int | None = None,
) -> float:
    """Median seconds of a call.

    Args:
        function: What to time; it is called without arguments.
        compute: The device that is waited for, once a round.
        rounds: How many timings count.
        n_calls: Calls of a round. By default two calls warm up, and a round
            has as many as take at least some 10 milliseconds.
    """
    if n_calls is None:
        _time_calls(function, 1, compute)
        once = _time_calls(function, 1, compute)
        n_calls = max(1, math.ceil(_MIN_ROUND / max(once, 1e-9)))
    times = [_time_calls(function, n_calls, compute) for _ in range(rounds)]
    return statistics.median(times) / n_calls


def measure_roofline(compute: ComputeConfig, width: int = 1024) -> Roofline:
    """Measure what the device does at best: a square product, a copy.

    Args:
        compute: Says where, and in which precision.
        width: Of the product; 8192 fills a large GPU.
    """
    x = torch.randn(width, width, device=compute.device, dtype=compute.dtype)
    n_bytes = 2**30 if compute.uses_cuda_graphs else 2**27  # beyond caches
    source = torch.zeros(n_bytes // 4, device=compute.device)
    target = torch.empty_like(source)
    with compute_context(compute), torch.no_grad():
        product_time = median_time(lambda: x @ x, compute)
        copy_time = median_time(lambda: target.copy_(source), compute)
    return Roofline(2 * width**3 / product_time, 2 * n_bytes / copy_time)
