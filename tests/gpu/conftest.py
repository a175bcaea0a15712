"""Run where there is only torch and pytest: python -m pytest tests/gpu

Where jaxtyping is missing, its annotations stand for plain tensors.
"""

import sys
from pathlib import Path
from types import ModuleType

import torch

sys.path.insert(0, str(Path(__file__).parents[2]))

try:
    import jaxtyping  # noqa: F401
except ImportError:

    class Shape:
        """`Float[Tensor, "…"]` without jaxtyping: the tensor type alone."""

        def __class_getitem__(cls, item: object) -> type:
            return torch.Tensor

    stand_in = ModuleType("jaxtyping")
    for name in ("Bool", "Float", "Int"):
        setattr(stand_in, name, Shape)
    sys.modules["jaxtyping"] = stand_in
