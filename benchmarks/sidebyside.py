"""Time two or more ways of doing the same, in turn, and compare them."""

import datetime
import json
import math
import platform
import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import torch

from attention_book.compute import ON_CPU, ComputeConfig
from attention_book.profiling.timing import median_time


MIN_TURN = 0.01  # seconds
RESULTS = Path(__file__).with_name("results")
OPERATORS = (
    *("nms", "qnms", "roi_align", "_roi_align_backward", "qroi_align"),
    *("ps_roi_align", "_ps_roi_align_backward", "roi_pool"),
    *("_roi_pool_backward", "ps_roi_pool", "_ps_roi_pool_backward"),
    *("deform_conv2d", "_deform_conv2d_backward"),
)
LIBRARIES: list[object] = []  # an operator lives as long as its library


def cpu_name() -> str:
    """The processor's name, where the system tells it."""
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def device_name(compute: ComputeConfig = ON_CPU, short: bool = False) -> str:
    """The name of what computes: "cpu", or for files and people, the GPU's."""
    if not compute.uses_cuda_graphs:
        return compute.device.type if short else cpu_name()
    name = torch.cuda.get_device_name(compute.device)
    return name.lower().replace(" ", "-") if short else name


def driver() -> str:
    """The version of NVIDIA's driver, where there is one."""
    try:
        return Path("/proc/driver/nvidia/version").read_text().split("\n")[0]
    except OSError:
        return "none"


def introduce(compute: ComputeConfig = ON_CPU) -> None:
    """Print what is measured on."""
    print(
        f"torch {torch.__version__}, {torch.get_num_threads()} threads, "
        f"{device_name(compute)}"
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


def name_operators() -> None:
    """Let torchvision be imported where its compiled part does not fit.

    That happens beside a PyTorch of another build, such as one for the CPU.
    """
    try:
        import torchvision  # noqa: F401
    except ImportError:
        return
    except RuntimeError:
        library = torch.library.Library("torchvision", "DEF")
        for name in OPERATORS:
            library.define(f"{name}() -> ()")
        LIBRARIES.append(library)


def side_by_side(
    entrants: Mapping[str, Callable[[], object]],
    rounds: int = 20,
    compute: ComputeConfig = ON_CPU,
) -> dict[str, float]:
    """Median seconds of a call, timed A B C A B C … after a warm-up.

    They take turns, so that a machine that slows down slows all of them. A
    turn is of as many calls as can be timed well.
    """
    n_calls = {}
    for name, run in entrants.items():
        once = median_time(run, compute, rounds=1)
        n_calls[name] = max(1, math.ceil(MIN_TURN / max(once, 1e-9)))
    times: dict[str, list[float]] = {name: [] for name in entrants}
    for _ in range(rounds):
        for name, run in entrants.items():
            took = median_time(run, compute, 1, n_calls[name])
            times[name].append(took)
    return {name: statistics.median(row) for name, row in times.items()}


def least(
    entrants: Mapping[str, Callable[[], object]], rounds: int = 31
) -> dict[str, float]:
    """The least processor seconds of a call, timed A B C A B C …"""
    seconds = dict.fromkeys(entrants, math.inf)
    for _ in range(rounds):
        for name, run in entrants.items():
            start = time.process_time()
            run()
            took = time.process_time() - start
            seconds[name] = min(seconds[name], took)
    return seconds


def report(title: str, seconds: dict[str, float]) -> None:
    """Print milliseconds, and each as a multiple of the first."""
    first = next(iter(seconds.values()))
    print(title)
    for name, median in seconds.items():
        print(f"  {name:34} {median * 1e3:9.3f} ms {median / first:7.2f} x")


def keep(
    name: str,
    command: Sequence[str],
    peers: dict[str, str],
    compute: ComputeConfig = ON_CPU,
    **found: Any,
) -> None:
    """Write what was found to results/name.json, with what it was found on."""
    setting = {
        "command": " ".join(command),
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "cpu": cpu_name(),
        **(
            {"gpu": device_name(compute), "driver": driver()}
            if compute.uses_cuda_graphs
            else {}
        ),
        "threads": torch.get_num_threads(),
        "torch": torch.__version__,
        "peers": peers,
    }
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{name}.json"
    path.write_text(json.dumps(setting | found, indent=2) + "\n")
    print(f"written: {path}")
