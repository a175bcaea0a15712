"""Run where there is only torch and pytest: python -m pytest tests/gpu

Where jaxtyping is missing, its annotations stand for plain tensors; where
safetensors is, no file can be read or written, and no test here does so.
tests/test_gpu.py runs the same tests on the CPU, all that can.
"""

import sys
from importlib.util import find_spec
from types import ModuleType

import pytest
import torch


@pytest.fixture
def device() -> str:
    """Where the tests of this folder run."""
    if not torch.cuda.is_available():
        pytest.skip("no GPU here: 0 GPU tests run")
    return "cuda"


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
    stand_in("safetensors", SafetensorError=ValueError)
    stand_in("safetensors.torch", load=None, save=None)
