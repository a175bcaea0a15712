"""Runs of several processes under torchrun, by tests/ranks_worker.py."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any


ROOT = Path(__file__).parent.parent
SCRIPT = ROOT / "tests/ranks_worker.py"
ENVIRONMENT = os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
Found = list[dict[str, Any]]  # what each process found in each job


def torchrun(n: int, *what: object) -> subprocess.CompletedProcess[str]:
    """Run something under torchrun, in n processes."""
    run = ["-m", "torch.distributed.run", "--standalone"]
    return subprocess.run(
        [sys.executable, *run, f"--nproc-per-node={n}", *map(str, what)],
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def run_jobs(folder: Path, n: int, kinds: str, *jobs: str) -> Found:
    """Return what each of n processes found, all being well."""
    done = torchrun(n, SCRIPT, folder, kinds, *jobs)
    assert done.returncode == 0, done.stderr
    return [
        json.loads((folder / f"{rank}.json").read_text("utf-8"))
        for rank in range(n)
    ]


def gap(one: list[float], other: list[float]) -> float:
    """Return the largest difference."""
    return max(abs(a - b) for a, b in zip(one, other, strict=True))
