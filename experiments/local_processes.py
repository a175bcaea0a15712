"""Several processes on this machine, and what they send to one another.

For the chapter "Many devices". torchrun starts scripts; run_processes has a
function of a page or a notebook run by several processes, which are given its
source. CommTraffic counts.
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
from torch import Tensor
from torch.distributed.tensor import DTensor
from torch.multiprocessing import start_processes
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves


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
        return [torch.load(file, weights_only=True) for file in files]


def _factor(name: str, size: int) -> float:
    """Return how many times its largest tensor a ring sends."""
    once = (size - 1) / size
    return {
        "allreduce_": 2 * once,
        "all_reduce": 2 * once,
        "_allgather_base_": once,
        "all_gather_into_tensor": size - 1.0,  # of what it is given, a shard
        "_reduce_scatter_base_": once,
        "reduce_scatter_tensor": once,
        "send": 1.0,
    }.get(name, 0.0)


class CommTraffic(TorchDispatchMode):
    """Counts what this process sends to others: with CommTraffic() as sent.

    Of all-reduce, all-gather and reduce-scatter among all processes it counts
    what a ring sends, whatever the library does; of messages from one to one,
    their length.

    Attributes:
        n_bytes: Sent so far.
        n_calls: How often something was sent.

    Source: Patarasuk and Yuan (2009), for the ring.
    """

    def __init__(self) -> None:
        super().__init__()
        self.n_bytes = 0.0
        self.n_calls = 0

    def __torch_dispatch__(
        self,
        operation: Any,
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        """Count, and do the operation."""
        if any(issubclass(kind, DTensor) for kind in types):
            return NotImplemented  # its own parts come by afterwards
        space, _, name = operation._schema.name.partition("::")
        factor = "c10d" in space and _factor(name, dist.get_world_size())
        if factor:
            found = [tree_leaves(arg) for arg in args]
            tensors = [
                [x for x in xs if isinstance(x, Tensor)] for xs in found
            ]
            self.n_bytes += factor * max(
                sum(x.nbytes for x in xs) for xs in tensors
            )
            self.n_calls += 1
        return operation(*args, **(kwargs or {}))
