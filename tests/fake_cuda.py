"""CUDA without a card: what the package calls of it, on the CPU.

Every call is held against the signature of PyTorch's own. A graph is modelled:
to capture is to remember each operation with its very tensors, and to replay
is to do them again, into the same memory. What a step keeps anywhere else (a
number in Python, a tensor made anew) goes wrong here as it would on a GPU.
"""

import inspect
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any
from unittest.mock import create_autospec

import pytest
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from attention_book.compute import ComputeConfig


FUNCTIONS: dict[str, Any] = {  # and what they return
    "graph_pool_handle": (0, 1),
    "max_memory_allocated": 0,
    "memory_allocated": 0,
    "reset_peak_memory_stats": None,
    "set_sync_debug_mode": None,
    "synchronize": None,
}


class FakeCuda:
    """The parts of torch.cuda, with a list of what was captured.

    Attributes:
        pools: The memory pool of each capture.
        streams: The stream of each capture.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.pools: list[object] = []
        self.streams: list[object] = []
        self.current = FakeStream()
        real = torch.cuda
        own = {
            "CUDAGraph": (real.CUDAGraph.__new__, FakeGraph, True),
            "Stream": (real.Stream.__new__, FakeStream, True),
            "current_stream": (real.current_stream, self.get_current, False),
            "device": (real.device.__init__, nullcontext, True),
            "graph": (real.graph.__init__, self.capture, True),
            "stream": (real.stream, self.switch, False),
        }
        for name, (function, fake, is_method) in own.items():
            checked = hold_against(function, fake, is_method)
            monkeypatch.setattr(torch.cuda, name, checked)
        for name, result in FUNCTIONS.items():
            function = getattr(torch.cuda, name)
            spec = create_autospec(function, return_value=result)
            monkeypatch.setattr(torch.cuda, name, spec)
        monkeypatch.setattr(ComputeConfig, "uses_cuda_graphs", True)
        monkeypatch.setattr(Tensor, "is_cpu", False, raising=False)

    def get_current(self, device: object = None) -> "FakeStream":
        return self.current

    @contextmanager
    def switch(self, stream: "FakeStream") -> Iterator[None]:
        """Work in a stream that waited for the one before, as it must."""
        before = self.current
        assert stream.waited_for is before
        self.current = stream
        yield
        self.current = before

    def capture(
        self, graph: "FakeGraph", pool: object = None, stream: object = None
    ) -> "FakeGraph":
        assert self.current.waited_for is stream  # for its trial runs
        self.pools.append(pool)
        self.streams.append(stream)
        return graph


def hold_against(function: Any, fake: Any, is_method: bool) -> Any:
    """Return the fake, which takes only what the function takes."""
    signature = inspect.signature(function)

    def call(*args: Any, **kwargs: Any) -> Any:
        signature.bind(*[None] * is_method, *args, **kwargs)
        return fake(*args, **kwargs)

    return call


class FakeStream:
    """A queue that is always empty, and knows whom it waited for."""

    def __init__(self, device: object = None) -> None:
        self.device = device
        self.waited_for: FakeStream | None = None

    def wait_stream(self, stream: "FakeStream") -> None:
        assert isinstance(stream, FakeStream)
        self.waited_for = stream


class FakeGraph(TorchDispatchMode):
    """Remembers the operations of a step; as a context, captures them."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[tuple[Any, Any, Any, Any]] = []

    def __torch_dispatch__(
        self, operator: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        result = operator(*args, **kwargs or {})
        self.calls.append((operator, args, kwargs or {}, result))
        return result

    def replay(self) -> None:
        for operator, args, kwargs, result in self.calls:
            again = tree_leaves(operator(*args, **kwargs))
            for old, new in zip(tree_leaves(result), again, strict=True):
                is_copy = isinstance(old, Tensor) and (
                    old.data_ptr() != new.data_ptr()  # neither view nor self
                )
                if is_copy:
                    old.copy_(new)
