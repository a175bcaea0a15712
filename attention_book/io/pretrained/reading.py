# Made from docs/source/pretrained-files.md (e2206a18925f). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
import re
from collections.abc import Callable, Iterator
from itertools import accumulate
from typing import Any

import torch
from torch import Tensor, nn

from attention_book.io.models import _NoInit
from attention_book.io.pretrained.family import Family
from attention_book.io.pretrained.layout import JoinedViews, Layout
from attention_book.io.tensor_files import (
    DTYPES,
    TensorFile,
    Tensors,
    check_finite,
    check_tensors,
    one_line,
)


__all__ = ["READABLE", "SlicedFile", "build_on_meta", "promise", "read_model"]


READABLE = {  # masks and positions are in some files, and are not read
    **DTYPES,
    "BOOL": torch.bool,
    "I64": torch.int64,
    "U8": torch.uint8,
}
_SLICE = 2**22  # bytes that are read at once


class SlicedFile:
    """A safetensors file whose tensors are read a few rows at a time.

    Args:
        file: Just opened, so that it stands where the numbers begin.
    """

    def __init__(self, file: TensorFile) -> None:
        self.file = file.file
        self.tensors = file.tensors
        begin = self.file.tell()
        sizes = [x.numel() * x.itemsize for x in self.tensors.values()]
        ends = accumulate(sizes, initial=begin)
        self.starts = dict(zip(self.tensors, ends, strict=False))
        self.buffer = torch.empty(_SLICE, dtype=torch.uint8)

    def slices(self, name: str) -> Iterator[tuple[int, Tensor]]:
        """Yield the rows of a tensor, some at a time, with their number.

        Each is good until the next one comes, which takes its memory.

        Raises:
            ValueError: A number is infinite or NaN, or some are missing.
        """
        promised = self.tensors[name]
        row_size = max(1, promised.nbytes // max(1, len(promised)))
        n = max(1, _SLICE // row_size)
        if row_size > len(self.buffer):
            self.buffer = torch.empty(row_size, dtype=torch.uint8)
        self.file.seek(self.starts[name])
        for start in range(0, len(promised), n):
            some = promised[start : start + n]
            data = self.buffer[: some.nbytes]
            if self.file.readinto(data.numpy().data) != len(data):
                raise ValueError("wanted a whole safetensors file: it shrank")
            found = data.view(promised.dtype).view(some.shape)
            check_finite(name, found)
            yield start, found

    def copy(self, name: str, where: JoinedViews) -> None:
        """Copy a tensor to its place in a model."""
        for start, rows in self.slices(name):
            where.copy_rows(start, rows)

    def check_twin(self, name: str, where: JoinedViews) -> None:
        """Raise ValueError unless a tensor repeats what stands in a model."""
        known = where.join().float()
        for start, rows in self.slices(name):
            if not torch.equal(known[start : start + len(rows)], rows.float()):
                raise ValueError(
                    f"wanted {name} tied to the embeddings, got other numbers"
                )


def promise(tensors: Tensors, family: Family) -> dict[str, str]:
    """Return what each tensor of a file that counts is called in the file.

    Args:
        tensors: Of the file, on meta.
        family: Says which names are older ones, and which do not count.

    Raises:
        ValueError: Two names of one tensor.
    """
    found: dict[str, str] = {}
    for name in tensors:
        today = family.name(name)
        if today in found:
            raise ValueError(
                f"wanted {one_line(today, 100)} once, got it as "
                f"{one_line(found[today], 100)} and {one_line(name, 100)}"
            )
        if not re.fullmatch(family.unused, today):
            found[today] = name
    return found


def build_on_meta(build: Callable[[], Any]) -> Any:
    """Build a model without numbers, which takes no memory."""
    with torch.device("meta"), _NoInit():
        return build()


def _check_layout(
    layout: Layout, promised: Tensors, twins: set[str], family: Family
) -> None:
    """Raise ValueError unless a file has what a model wants, and no more."""
    wanted = {
        name: torch.empty(where.shape, device="meta")
        for name, where in layout.items()
    }
    for twin in twins:
        wanted[twin] = wanted[family.twins[twin]]
    check_tensors(promised, wanted)


def read_model(file: TensorFile, model: nn.Module, family: Family) -> Any:
    """Return a model with the numbers of a file, in fp32 and eval mode.

    Names and shapes are compared before there is memory for the model. The
    numbers are read a few rows at a time, each to where it belongs.

    Args:
        file: Just opened.
        model: On meta.
        family: Of the file.

    Raises:
        ValueError: The first tensor that is missing, unknown, or of another
            shape; numbers that are none.
    """
    sliced = SlicedFile(file)
    names = promise(file.tensors, family)
    promised = {x: file.tensors[name] for x, name in names.items()}
    twins = set(family.twins) & set(names)
    _check_layout(family.layout(model), promised, twins, family)
    model = model.to_empty(device="cpu").float()
    for parameter in model.parameters():
        nn.init.zeros_(parameter)  # what no file has: the book's <pad>
    layout = family.layout(model)
    for name, where in layout.items():
        sliced.copy(names[name], where)
    for twin in sorted(twins):
        sliced.check_twin(names[twin], layout[family.twins[twin]])
    return model.eval()
