"""Time two or more ways of doing the same, in turn, and compare them."""

import platform
import statistics
import time
from collections.abc import Callable

import torch


def introduce() -> None:
    """Print what is measured on."""
    cpu = platform.processor() or platform.machine()
    print(
        f"torch {torch.__version__}, {torch.get_num_threads()} threads, {cpu}"
    )


def side_by_side(
    entrants: dict[str, Callable[[], object]], rounds: int = 20
) -> dict[str, float]:
    """Median seconds of each entrant, run A B C A B C … after a warm-up.

    They take turns, so that a machine that slows down slows all of them.
    """
    times: dict[str, list[float]] = {name: [] for name in entrants}
    for number in range(rounds + 2):
        for name, run in entrants.items():
            start = time.perf_counter()
            run()
            if number >= 2:
                times[name].append(time.perf_counter() - start)
    return {name: statistics.median(row) for name, row in times.items()}


def report(title: str, seconds: dict[str, float]) -> None:
    """Print milliseconds, and each as a multiple of the first."""
    first = next(iter(seconds.values()))
    print(title)
    for name, median in seconds.items():
        print(f"  {name:34} {median * 1e3:9.3f} ms {median / first:7.2f} x")
