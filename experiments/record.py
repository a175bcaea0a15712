"""Run an experiment over its seeds, and record what came out.

An experiment name.py defines three things:

    SEEDS = range(5)        three seeds or more
    run(seed)               one run's results: {name: number or text}
    tables(results)         tables of {name: [result of each seed]}

A table is a list of rows of cells, the head first; a cell is plain or
`中文 | English`. What is recorded is in records/name.json.
"""

import datetime
import hashlib
import importlib.util
import json
import math
import os
import platform
import re
import statistics
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import torch

import attention_book
from benchmarks.sidebyside import cpu_name, driver
from literate import ROOT
from literate.chapter import PACKAGE
from literate.records import RECORDS, Table
from literate.tangle import write


PARTS = ("SEEDS", "run", "tables")
FEWEST_SEEDS = 3
Result = float | str  # a text is recorded as it is, such as a translation
Results = dict[str, list[Any]]


class ExperimentError(Exception):
    """An experiment is not as it must be; the message says how."""


def spread(values: Sequence[float], digits: int = 3, unit: str = "") -> str:
    """The mean of all seeds, and in parentheses the least and the largest."""
    mean, least, most = (
        f"{value:.{digits}f}"
        for value in (statistics.fmean(values), min(values), max(values))
    )
    return f"{mean}{unit} ({least}–{most})"


def percent(values: Sequence[float], digits: int = 1) -> str:
    """The spread of fractions, in percent."""
    return spread([100 * value for value in values], digits, "%")


def find(root: Path = ROOT) -> dict[str, Path]:
    """The experiments, by name: by-hand is experiments/by_hand.py.

    Other files beside them hold what several share, and have no SEEDS.
    """
    paths = sorted((root / "experiments").glob("*.py"))
    texts = {path: path.read_text("utf-8") for path in paths}
    return {
        path.stem.replace("_", "-"): path
        for path, text in texts.items()
        if "\nSEEDS = " in text
    }


def load(path: Path) -> ModuleType:
    """Import an experiment.

    Raises:
        ExperimentError: It lacks a part, or has too few seeds.
    """
    name = f"experiment_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ExperimentError(f"{path.name} is no Python")
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for part in PARTS:
        if not hasattr(module, part):
            raise ExperimentError(f"{path.name} must define {part}")
    if len(set(module.SEEDS)) < FEWEST_SEEDS:
        raise ExperimentError(
            f"{path.name} must have {FEWEST_SEEDS} seeds or more, "
            f"got {len(set(module.SEEDS))}"
        )
    return module


def digest(texts: Iterable[str]) -> str:
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()[:12]


def digest_of_script(path: Path, root: Path = ROOT) -> str:
    """Of what decides an experiment's results, but for the package.

    That is its text, that of the modules beside it that it imports, and the
    chapters that they name.
    """
    text = path.read_text("utf-8")
    names = set(re.findall(r"\bexperiments\.(\w+)", text)) - {"record"}
    helpers = [path.with_name(f"{name}.py") for name in sorted(names)]
    texts = [text, *(helper.read_text("utf-8") for helper in helpers)]
    chapters = re.findall(r"docs/[\w/-]+\.md", "".join(texts))
    texts += [(root / name).read_text("utf-8") for name in chapters]
    return digest(texts)


def digest_of_package(root: Path = ROOT) -> str:
    paths = sorted((root / PACKAGE).glob("**/*.py"))
    return digest(
        f"{path.relative_to(root).as_posix()}\n{path.read_text('utf-8')}"
        for path in paths
    )


def machine() -> dict[str, Any]:
    """What the experiment ran on."""
    cores = getattr(
        os, "sched_getaffinity", lambda _: range(os.cpu_count() or 1)
    )
    found = {
        "processor": cpu_name(),
        "cores": len(cores(0)),
        "threads": torch.get_num_threads(),
    }
    if torch.cuda.is_initialized():  # type: ignore[no-untyped-call]
        found |= {"gpu": torch.cuda.get_device_name(), "driver": driver()}
    return found


def perform(
    name: str,
    path: Path,
    root: Path = ROOT,
    tell: Callable[[str], object] = lambda _: None,
) -> Path:
    """Run an experiment and write its record.

    What each seed gave is kept, so that a run that was broken off goes on
    where it stopped, unless the experiment or the package changed.
    """
    module = load(path)
    kept = root / ".cache/experiments" / f"{name}.json"
    of = {
        "script": digest_of_script(path, root),
        "package": digest_of_package(root),
        "machine": machine(),
    }
    before = json.loads(kept.read_text("utf-8")) if kept.exists() else {}
    runs: dict[str, dict[str, Result]] = {}
    seconds = 0.0
    if before.get("of") == of:
        runs, seconds = before["runs"], before["seconds"]
    for seed in module.SEEDS:
        if str(seed) in runs:
            tell(f"{name}, seed {seed}: kept from a run that was broken off")
            continue
        start = time.perf_counter()
        runs[str(seed)] = _checked(module.run(seed), name)
        seconds += time.perf_counter() - start
        found = ", ".join(f"{k}: {v}" for k, v in runs[str(seed)].items())
        tell(f"{name}, seed {seed}: {found}")
        write(kept, json.dumps({"of": of, "runs": runs, "seconds": seconds}))
    results = _join([runs[str(seed)] for seed in module.SEEDS], name)
    record = {
        "command": f"nox -s experiments -- {name}",
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "seconds": round(seconds),
        "seeds": list(module.SEEDS),
        "script": of["script"],
        "package": {
            "version": attention_book.__version__,
            "digest": of["package"],
        },
        "versions": {
            "python": platform.python_version(),
            "torch": torch.__version__,
        },
        "machine": machine(),
        "results": results,
        "tables": make_tables(module, results),
    }
    target = root / RECORDS / f"{name}.json"
    write(target, dump(record))
    kept.unlink()
    return target


def remake_tables(name: str, path: Path, root: Path = ROOT) -> Path:
    """Make the tables of a record anew from the results that it holds."""
    target = root / RECORDS / f"{name}.json"
    record = json.loads(target.read_text("utf-8"))
    record["tables"] = make_tables(load(path), record["results"])
    write(target, dump(record))
    return target


def make_tables(module: ModuleType, results: Results) -> dict[str, Table]:
    """The tables of an experiment, which fit the fences that will show them.

    Raises:
        ExperimentError: A row has more or fewer cells than the head, or a cell
            is empty or holds what parts cells or lines.
    """
    tables: dict[str, Table] = module.tables(results)
    for title, table in tables.items():
        if not re.fullmatch(r"[\w-]+", title):
            raise ExperimentError(f"a table's name is a word, got {title!r}")
        for row in table:
            if len(row) != len(table[0]):
                raise ExperimentError(
                    f"rows of {title} must have {len(table[0])} cells as its "
                    f"head, got {row}"
                )
            for cell in row:
                if not cell.strip() or re.search(r"  |\n|^ | $", cell):
                    raise ExperimentError(
                        f"a cell of {title} must be text without two spaces "
                        f"together, got {cell!r}"
                    )
    return tables


def _checked(found: Mapping[str, Result], name: str) -> dict[str, Result]:
    """The results, numbers with six digits."""
    checked: dict[str, Result] = {}
    for key, value in found.items():
        if isinstance(value, str):
            checked[key] = value
        elif math.isfinite(value):
            checked[key] = float(f"{value:.6g}")
        else:
            raise ExperimentError(f"{name}: {key} must be finite, got {value}")
    return checked


def _join(runs: list[dict[str, Result]], name: str) -> Results:
    """The results of all seeds, by name."""
    for run in runs:
        if list(run) != list(runs[0]):
            raise ExperimentError(
                f"{name}: each seed must give {list(runs[0])}, got {list(run)}"
            )
    return {key: [run[key] for run in runs] for key in runs[0]}


def dump(record: dict[str, Any]) -> str:
    """JSON with a line for each list of numbers and each row of a table."""
    text = json.dumps(record, ensure_ascii=False, indent=2, allow_nan=False)
    flat = re.sub(
        r"\[\n[^\[\]{}]*?\]",
        lambda found: json.dumps(json.loads(found[0]), ensure_ascii=False),
        text,
    )
    return flat + "\n"
