"""Runs of several processes by tests/ranks_worker.py, and what comes of them."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any


ROOT = Path(__file__).parent.parent
SCRIPT = ROOT / "tests/ranks_worker.py"
ENVIRONMENT = os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
Plan = list[list[Any]]  # name; parallel, sharded or none; size; jobs
Reports = dict[str, dict[str, Any]]


def run_plan(plan: Plan, folder: Path) -> Reports:
    """Return what came of each run of the plan."""
    (folder / "plan.json").write_text(json.dumps(plan), "utf-8")
    done = subprocess.run(
        [sys.executable, SCRIPT, folder],
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()  # older versions of gloo print too
    found = [json.loads(line) for line in lines if line.startswith("{")]
    assert [report["name"] for report in found] == [name for name, *_ in plan]
    return {report["name"]: report for report in found}


def found_in(reports: Reports, name: str, job: str) -> list[dict[str, Any]]:
    """Return what each process found, all being well."""
    report = reports[f"all {name}"]
    assert set(report["codes"]) == {0}, report["errors"]
    assert set(report["errors"]) == {""}
    return [process[job] for process in report["found"]]


def gap(one: list[float], other: list[float]) -> float:
    """Return the largest difference."""
    return max(abs(a - b) for a, b in zip(one, other, strict=True))


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
