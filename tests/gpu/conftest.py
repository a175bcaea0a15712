"""The tests of devices: on the CPU everywhere, on a GPU where there is one.

    python -m pytest tests/gpu

needs torch and pytest. Where jaxtyping is missing, its annotations stand for
plain tensors; where safetensors is, no file can be read or written, and no
test here does so. A test takes the device, and runs once on each; one that is
about CUDA alone takes the gpu, which without a card is the CPU in its stead,
with tests.fake_cuda in place of CUDA's own calls:

    def test_it(device: torch.device) -> None: ...

    def test_it_on_a_gpu_alone(gpu: torch.device) -> None: ...
"""

import os
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

import pytest
import torch


if not torch.cuda.is_available():  # Triton reads it when it is imported
    os.environ.setdefault("TRITON_INTERPRET", "1")


@pytest.hookimpl(tryfirst=True)  # before pytest leaves out what is slow
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Without a card these are dry runs, which nox -s slow does."""
    if not torch.cuda.is_available():
        for item in items:
            if item.path.is_relative_to(Path(__file__).parent):
                item.add_marker(pytest.mark.slow)


@pytest.fixture(params=["cpu", "cuda"])
def device(request: pytest.FixtureRequest) -> Iterator[torch.device]:
    """Where a test runs; it is skipped where there is no such device."""
    if request.param == "cuda" and not torch.cuda.is_available():
        pytest.skip("no GPU here")
    yield from _in_context(torch.device(request.param))


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> Iterator[torch.device]:
    """The GPU, or a dry run on the CPU."""
    kind = "cuda"
    if not torch.cuda.is_available():
        from tests.fake_cuda import FakeCuda

        FakeCuda(monkeypatch)
        kind = "cpu"
    yield from _in_context(torch.device(kind))


def _in_context(device: torch.device) -> Iterator[torch.device]:
    """Yield the device, with the kernels that the package would take."""
    from attention_book.compute import compute_context, get_compute_config

    with compute_context(get_compute_config(device, "fp32")):
        yield device


@pytest.fixture(autouse=True)
def _as_a_reader_runs_it(unchecked: None) -> None:
    """Compile and time the package itself, without the checks of shapes."""


def stand_in(module: str, **names: object) -> None:
    """Make a module of these names, in place of one that is missing."""
    sys.modules[module] = ModuleType(module)
    vars(sys.modules[module]).update(names)


class Shape:
    """`Float[Tensor, "…"]` without jaxtyping: the tensor type alone."""

    def __class_getitem__(cls, item: object) -> type:
        return torch.Tensor


if find_spec("jaxtyping") is None:
    kinds = ("Bool", "Float", "Int", "Shaped")
    stand_in("jaxtyping", **dict.fromkeys(kinds, Shape))
if find_spec("safetensors") is None:
    stand_in("safetensors", SafetensorError=ValueError, safe_open=None)
    stand_in("safetensors.torch", load=None, save=None)
