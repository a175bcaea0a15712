# Made from docs/source/processes.md (be9b81e4d21d). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""What processes send. On the page "How processes begin and end"."""

from typing import Any

import torch.distributed as dist
from torch import Tensor
from torch.distributed.tensor import DTensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves


__all__ = ["CommTraffic"]


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
