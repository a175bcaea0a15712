"""Time two or more ways of doing the same, in turn, and compare them."""

import datetime
import json
import platform
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import torch

RESULTS = Path(__file__).with_name("results")


def cpu_name() -> str:
    """The processor's name, where the system tells it."""
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def introduce() -> None:
    """Print what is measured on."""
    print(
        f"torch {torch.__version__}, {torch.get_num_threads()} threads, "
        f"{cpu_name()}"
    )


def need(*packages: str) -> dict[str, str]:
    """Return the packages' versions; leave, saying how, if one is missing."""
    versions = {}
    for package in packages:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            sys.exit(
                f"{package} is missing, run first: "
                'pip install "attention-book[peers]"'
            )
    return versions


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


def keep(
    name: str, command: Sequence[str], peers: dict[str, str], **found: Any
) -> None:
    """Write what was found to results/name.json, with what it was found on."""
    setting = {
        "command": " ".join(command),
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "cpu": cpu_name(),
        "threads": torch.get_num_threads(),
        "torch": torch.__version__,
        "peers": peers,
    }
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{name}.json"
    path.write_text(json.dumps(setting | found, indent=2) + "\n")
    print(f"written: {path}")
