# Made from docs/source/checkpoints.md (a2575396fc8e). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""Tensors and texts in safetensors files.

Explained on the page "Files and checkpoints".
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from attention_book.io.files import (
    check_regular,
    prefix_errors,
    printable,
    write_file,
)


__all__ = [
    "TensorFile",
    "Tensors",
    "check_tensors",
    "open_tensors",
    "read_tensors",
    "to_int8",
    "write_tensors",
]


Tensors = dict[str, Tensor]


def _check_numbers(name: str, tensor: Tensor) -> None:
    """Raise ValueError unless all are finite, in fp32, or int8."""
    wanted = f"wanted finite numbers in {printable(name, 100)!r}"
    if not (tensor.is_floating_point() or tensor.dtype == torch.int8):
        raise ValueError(f"{wanted}, got {tensor.dtype}")
    if not tensor.numel():
        return
    extremes = torch.stack(tensor.aminmax()).float()
    if not extremes.isfinite().all():
        raise ValueError(f"{wanted}, got infinity or NaN")


class TensorFile:
    """A safetensors file: first what its header says, then the numbers.

    Args:
        file: As safe_open has opened it, whose header fits its content.

    Attributes:
        tensors: What the header names, on meta, which takes no memory.
        metadata: The texts.
    """

    def __init__(self, file: Any) -> None:
        self.file = file
        self.metadata: dict[str, str] = file.metadata() or {}
        names = file.keys()
        slices = {name: file.get_slice(name) for name in names}
        self.scales = {
            f"{name}.scale"
            for name, found in slices.items()
            if found.get_dtype() == "I8"
        }
        self.tensors: Tensors = {
            name: torch.empty(found.get_shape(), device="meta")
            for name, found in slices.items()
            if name not in self.scales
        }

    def get_tensor(self, name: str) -> Tensor:
        """Return a tensor, in floating point; ValueError unless all is finite.

        Its memory may be that of the file: clone what is to outlive it.
        """
        tensor: Tensor = self.file.get_tensor(name)
        if tensor.dtype == torch.int8:
            tensor = tensor * self._scale_of(name, len(tensor))[:, None]
        _check_numbers(name, tensor)
        return tensor

    def _scale_of(self, name: str, n_rows: int) -> Tensor:
        """Return the scale of each row of an int8 matrix."""
        name = f"{name}.scale"
        scale = torch.empty(0)
        if name in self.file.keys():  # noqa: SIM118
            scale = self.file.get_tensor(name)
        if scale.shape != (n_rows,) or not scale.is_floating_point():
            got = f"{tuple(scale.shape)} of {scale.dtype}"
            raise ValueError(
                f"wanted {printable(name, 100)!r} with {n_rows} numbers, "
                f"got {got}"
            )
        return scale


@contextmanager
def open_tensors(path: str | Path) -> Iterator[TensorFile]:
    """Open a safetensors file; what is wrong in it is one line with its path.

    Raises:
        OSError: There is no such file, or it can't be read.
        ValueError: Within the with statement something about its content
            was wrong.
    """
    check_regular(path)
    with prefix_errors(path):
        try:
            opened = safe_open(path, framework="pt")
        except SafetensorError as error:
            why = str(error).removeprefix("Error while deserializing header: ")
            raise ValueError(
                f"wanted a whole safetensors file, got {why}"
            ) from None
        with opened as file:
            yield TensorFile(file)


def to_int8(tensors: Tensors) -> Tensors:
    """Return each matrix as whole numbers from -127 to 127, times a scale.

    There is a scale for each row, under the matrix's name with ".scale", and
    the error of a number is at most half of it. Other tensors become fp16.
    """
    found: Tensors = {}
    for name, x in tensors.items():
        if x.ndim != 2:
            found[name] = x.half()
            continue
        scale = x.abs().amax(dim=1).clamp(min=1e-12) / 127
        found[name] = (x / scale[:, None]).round().to(torch.int8)
        found[f"{name}.scale"] = scale
    return found


def check_tensors(tensors: Tensors, wanted: Tensors) -> None:
    """Compare names and shapes of a file with those of a model.

    Raises:
        ValueError: A tensor is missing, unknown, or of another shape.
    """
    for name, like in wanted.items():
        tensor = tensors.get(name)
        got = "none" if tensor is None else tuple(tensor.shape)
        if got != tuple(like.shape):
            raise ValueError(
                f"wanted {name} of shape {tuple(like.shape)}, got {got}"
            )
    for name in tensors:
        if name not in wanted:
            raise ValueError(f"wanted no tensor {printable(name, 100)!r}")


def write_tensors(
    path: str | Path, tensors: Tensors, metadata: dict[str, str]
) -> None:
    """Write a safetensors file: whole, or not at all.

    Raises:
        ValueError: Numbers that are not floating-point or not finite.
        OSError: It can't be written; what was there before is still there.
    """
    with prefix_errors(f"{path}: not written"):
        for name, tensor in tensors.items():
            _check_numbers(name, tensor)
        data = save({k: x.contiguous() for k, x in tensors.items()}, metadata)
    write_file(path, data)


def read_tensors(path: str | Path) -> tuple[Tensors, dict[str, str]]:
    """Read all tensors and texts of a file.

    Raises:
        OSError: There is no such file, or it can't be read.
        ValueError: It is incomplete, or has other numbers than these.
    """
    with open_tensors(path) as file:
        names = file.tensors
        tensors = {name: file.get_tensor(name).clone() for name in names}
        return tensors, file.metadata
