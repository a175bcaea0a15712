# Made from docs/source/tensor-files.md (c70198fab445). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
import json
import math
import os
import re
import stat
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from io import BufferedIOBase
from pathlib import Path
from typing import Any

import torch
from torch import Tensor


__all__ = [
    "DTYPES",
    "FAULTS",
    "MAX_HEADER",
    "MAX_TENSORS",
    "MAX_VALUES",
    "Metadata",
    "TensorFile",
    "Tensors",
    "check_finite",
    "check_regular",
    "check_tensors",
    "one_line",
    "open_tensors",
    "parse_json",
]


Tensors = dict[str, Tensor]
Metadata = dict[str, str]

MAX_HEADER = 2**24  # bytes: room for 100,000 subwords
MAX_TENSORS = 2**14  # in a file: room for AdamW and 100 layers a side
MAX_VALUES = 2**19  # in a JSON text: room for 100,000 subwords as well
DTYPES = {
    "BF16": torch.bfloat16,
    "F16": torch.float16,
    "F32": torch.float32,
    "F64": torch.float64,
}


_KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
}


def check_regular(path: str | Path) -> None:
    """Raise OSError unless this is a file, or a link to one.

    A device may have no end, and a pipe may keep its reader waiting.
    """
    mode = Path(path).stat().st_mode
    if not stat.S_ISREG(mode):
        kind = _KINDS.get(stat.S_IFMT(mode), "a device")
        raise OSError(f"{path}: wanted a file, got {kind}")


def one_line(text: object, max_length: int = 300) -> str:
    """Return a text fit for an error: printable, one line, not too long."""
    line = " ".join(str(text)[: 4 * max_length].split())
    line = "".join(x if x.isprintable() else "\ufffd" for x in line)
    return line if len(line) <= max_length else line[: max_length - 1] + "…"


_STRING = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object of JSON; ValueError if a key comes twice."""
    found = dict(pairs)
    if len(found) < len(pairs):
        ((twice, _),) = Counter(name for name, _ in pairs).most_common(1)
        raise ValueError(f"{twice!r} twice")
    return found


def _refuse_constant(name: str) -> None:
    """Raise ValueError: JSON has no such number, though Python reads it."""
    raise ValueError(f"the number {name}")


def parse_json(text: str) -> Any:
    """Return what a JSON text says.

    Raises:
        ValueError: It is no JSON, names a thing twice, is nested too deeply,
            or has more than MAX_VALUES values, each of which takes up to
            some 100 bytes of memory.
    """
    structure = _STRING.sub("", text)
    n_values = sum(structure.count(mark) for mark in "[{,")
    if n_values > MAX_VALUES:
        raise ValueError(f"more than {MAX_VALUES} values")
    try:
        return json.loads(
            text,
            object_pairs_hook=_unique,
            parse_constant=_refuse_constant,
        )
    except RecursionError:
        raise ValueError("JSON that is nested too deeply") from None


def _is_count(x: object) -> bool:
    """Whether this is a whole number that a size may be."""
    return type(x) is int and 0 <= x < 2**48


def _promise(
    name: str, entry: Any, offset: int, dtypes: Mapping[str, torch.dtype]
) -> Tensor:
    """Return a tensor of the header, on meta; its numbers begin at offset.

    Raises:
        ValueError: The entry is none, or its parts don't fit each other.
    """
    where = f"for {one_line(name, 100)!r}"
    if type(entry) is not dict or set(entry) != {
        "dtype",
        "shape",
        "data_offsets",
    }:
        raise ValueError(f"no dtype, shape and data_offsets {where}")
    dtype = entry["dtype"]
    if type(dtype) is not str or dtype not in dtypes:
        known = ", ".join(dtypes)
        got = one_line(dtype, 30)
        raise ValueError(f"the dtype {got!r} {where}, not one of {known}")
    shape = entry["shape"]
    if type(shape) is not list or len(shape) > 8:
        raise ValueError(f"no shape of at most 8 axes {where}")
    if not all(map(_is_count, shape)):
        raise ValueError(f"the shape {one_line(shape, 60)} {where}")
    n_bytes = math.prod(shape) * dtypes[dtype].itemsize
    if _offsets(entry) != [offset, offset + n_bytes]:
        got = one_line(entry["data_offsets"], 60)
        raise ValueError(
            f"data_offsets {got} {where}, not {[offset, offset + n_bytes]}"
        )
    if offset + n_bytes >= 2**48:
        raise ValueError(f"the shape {shape} {where}")
    return torch.empty(shape, dtype=dtypes[dtype], device="meta")


def _offsets(entry: Any) -> list[int]:
    """Return where the numbers of an entry lie, as far as it says so."""
    offsets = entry.get("data_offsets") if type(entry) is dict else None
    if type(offsets) is not list or not all(map(_is_count, offsets)):
        return []
    return offsets


class TensorFile:
    """A safetensors file: first what its header promises, then the numbers.

    Args:
        file: Open for reading, at its beginning.
        dtypes: Which are accepted, by their names in the header.

    Attributes:
        tensors: What it promises, on meta, which takes no memory.
        metadata: The texts.

    Raises:
        ValueError: It is cut off, or the header is none of ours.
    """

    def __init__(
        self,
        file: BufferedIOBase,
        dtypes: Mapping[str, torch.dtype] = DTYPES,
    ) -> None:
        self.file = file
        self.dtypes = dtypes
        size = file.seek(0, os.SEEK_END)
        file.seek(0)
        n = int.from_bytes(file.read(8), "little")
        if size < 8 or n > size - 8:
            raise ValueError(
                f"wanted a whole safetensors file, got {size} bytes"
            )
        if n > MAX_HEADER:
            raise ValueError(
                "wanted a whole safetensors file with a header of at most "
                f"{MAX_HEADER} bytes, got {n}"
            )
        try:
            end = 8 + n + self._parse(file.read(n).decode())
        except ValueError as error:
            raise ValueError(
                f"wanted a whole safetensors file, got {error}"
            ) from None
        if end != size:
            raise ValueError(
                f"wanted a whole safetensors file of {end} bytes, got {size}"
            )

    def _parse(self, header: str) -> int:
        """Read the header; return how many bytes of numbers follow it."""
        entries = parse_json(header)
        if type(entries) is not dict:
            raise ValueError("no header")
        self.metadata: Metadata = entries.pop("__metadata__", {})
        if type(self.metadata) is not dict or not all(
            type(text) is str for text in self.metadata.values()
        ):
            raise ValueError("metadata that are no texts")
        if len(entries) > MAX_TENSORS:
            raise ValueError(
                f"{len(entries)} tensors, more than {MAX_TENSORS}"
            )
        self.tensors: Tensors = {}
        end = 0
        for name in sorted(entries, key=lambda x: _offsets(entries[x])):
            tensor = _promise(name, entries[name], end, self.dtypes)
            self.tensors[name] = tensor
            end += tensor.numel() * tensor.itemsize
        return end

    def read(self) -> Tensors:
        """Return the tensors, now with their numbers.

        Raises:
            ValueError: A number is infinite or NaN, or some are missing.
        """
        found = {}
        for name, promised in self.tensors.items():
            tensor = torch.empty_like(promised, device="cpu")
            numbers = tensor.reshape(-1).view(torch.uint8).numpy().data
            if self.file.readinto(numbers) != len(numbers):
                raise ValueError("wanted a whole safetensors file: it shrank")
            check_finite(name, tensor)
            found[name] = tensor
        return found


def check_finite(name: str, tensor: Tensor) -> None:
    """Raise ValueError if there is infinity or NaN in a tensor, in fp32."""
    if tensor.dtype == torch.float64:  # of which fp32 may make infinity
        tensor = tensor.float()
    if tensor.numel() and not all(
        math.isfinite(x) for x in map(Tensor.item, tensor.aminmax())
    ):
        raise ValueError(
            f"wanted finite numbers in {one_line(name, 100)!r}, "
            "got infinity or NaN"
        )


FAULTS = (  # what a file made by bad luck or bad will may raise
    ArithmeticError,
    AttributeError,
    LookupError,
    MemoryError,
    RuntimeError,
    TypeError,
    ValueError,
)


@contextmanager
def open_tensors(
    path: str | Path, dtypes: Mapping[str, torch.dtype] = DTYPES
) -> Iterator[TensorFile]:
    """Open a safetensors file; what is wrong in it is one line with its path.

    Raises:
        OSError: There is no such file, or it can't be read.
        ValueError: Within the with statement something about its content
            was wrong.
    """
    check_regular(path)
    with Path(path).open("rb") as file:
        try:
            yield TensorFile(file, dtypes)
        except FAULTS as error:
            why = f"has no {error}" if isinstance(error, KeyError) else error
            why = one_line(why) or "does not fit into memory"
            raise ValueError(f"{path}: {why}") from None


def check_tensors(
    promised: Tensors, wanted: Tensors, *optional: Tensors
) -> None:
    """Compare what a file promises with what a model has.

    Args:
        promised: Of the file.
        wanted: Must be there, in any dtype.
        optional: Groups of which all are there, in their dtype, or none.

    Raises:
        ValueError: A tensor is missing, unknown, or of another shape.
    """
    wanted = dict(wanted)
    for group in optional:
        if any(name in promised for name in group):
            wanted |= group
            for name, like in group.items():
                found = promised.get(name, like).dtype
                if found != like.dtype:
                    raise ValueError(
                        f"wanted {name} of {like.dtype}, got {found}"
                    )
    for name, like in wanted.items():
        tensor = promised.get(name)
        got = "none" if tensor is None else tuple(tensor.shape)
        if got != tuple(like.shape):
            raise ValueError(
                f"wanted {name} of shape {tuple(like.shape)}, got {got}"
            )
    for name in promised:
        if name not in wanted:
            raise ValueError(f"wanted no tensor {one_line(name, 100)!r}")
