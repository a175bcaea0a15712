# Made from docs/source/processes.md (8090a5bb671a). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""Several processes on this machine, to try what many machines do.

Explained on the page "How processes begin and end".
"""

import inspect
import multiprocessing
import re
import runpy
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FunctionType, ModuleType
from typing import Any

import torch
import torch.distributed as dist
from torch.multiprocessing import start_processes


__all__ = ["run_processes"]


_PRELOAD = (
    __name__,
    "torch._dynamo",  # what the others import when first called
    "torch.distributed.fsdp",
    "torch.distributed.tensor.parallel",
)


def _imports(text: str, names: dict[str, Any]) -> str:
    """Return the lines that import, or set, what a text takes from names."""
    lines = []
    for name in sorted({*re.findall(r"\b[A-Za-z]\w*", text)} & names.keys()):
        value = names[name]
        if isinstance(value, ModuleType):
            lines.append(f"import {value.__name__} as {name}")
        elif isinstance(value, int | float | str):
            lines.append(f"{name} = {value!r}")
        elif isinstance(value, type | FunctionType):
            home = value.__module__
            if home != names["__name__"]:
                lines.append(f"from {home} import {value.__name__} as {name}")
    return "\n".join(lines)


def _join(rank: int, size: int, folder: str, name: str) -> None:
    """Be one of the processes, and write what the function returns."""
    torch.set_num_threads(1)
    store = dist.FileStore(str(Path(folder, "store")), size)
    dist.init_process_group("gloo", store=store, rank=rank, world_size=size)
    function = runpy.run_path(str(Path(folder, "script.py")))[name]
    torch.save(function(), Path(folder, f"{rank}.pt"))
    dist.barrier()
    dist.destroy_process_group()


def run_processes(
    size: int, function: Callable[[], Any], *needed: Callable[..., Any]
) -> list[Any]:
    """Run a function in several processes of this machine, joined by gloo.

    Args:
        size: How many processes.
        function: What each runs; it learns its rank from torch.distributed.
            It may use modules, classes, functions that can be imported, and
            numbers and texts, under the names that they have here.
        needed: Other functions and classes of the same notebook that it uses.

    Returns:
        What it returned in each process, in the order of their ranks:
        tensors, numbers, texts, or lists and dictionaries of these.

    Raises:
        ProcessRaisedException: Of torch.multiprocessing; a process failed.
    """
    method = multiprocessing.get_all_start_methods()[-1]
    if method == "forkserver":
        multiprocessing.set_forkserver_preload(list(_PRELOAD))
    text = "\n\n".join(map(inspect.getsource, (*needed, function)))
    text = f"{_imports(text, function.__globals__)}\n\n{text}"
    with TemporaryDirectory() as folder:
        Path(folder, "script.py").write_text(text, "utf-8")
        options = size, folder, function.__name__
        start_processes(_join, options, size, start_method=method)
        files = (Path(folder, f"{rank}.pt") for rank in range(size))
        return [torch.load(file) for file in files]
