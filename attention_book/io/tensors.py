# Made from docs/source/checkpoints.md (b56f57e995b8). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""Tensors and texts in safetensors files.

Explained on the page "Files and checkpoints".
"""

import hashlib
import json
import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from io import BufferedIOBase
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from attention_book.io.files import (
    check_regular,
    parse_json,
    prefix_errors,
    printable,
    write_file,
)


__all__ = [
    "DTYPES",
    "MAX_TENSORS",
    "Metadata",
    "TensorFile",
    "Tensors",
    "check_tensors",
    "open_tensors",
    "read_tensors",
    "write_tensors",
]


Tensors = dict[str, Tensor]
Metadata = dict[str, str]

_MAX_HEADER = 2**24  # bytes: room for 100,000 subwords
MAX_TENSORS = 2**14  # in a file: room for AdamW and 100 layers a side
DTYPES = {
    "BF16": torch.bfloat16,
    "F16": torch.float16,
    "F32": torch.float32,
    "F64": torch.float64,
}


class TensorFile:
    """A safetensors file: first what its header says, then the numbers.

    Args:
        path: The file.
        file: The same, open for reading, at its beginning.
        dtypes: Which are accepted, by their names in the header.

    Attributes:
        tensors: What the header names, on meta, which takes no memory.
        metadata: The texts.

    Raises:
        ValueError: It is cut off, or its header is not one of ours.
    """

    def __init__(
        self,
        path: str | Path,
        file: BufferedIOBase,
        dtypes: Mapping[str, torch.dtype] = DTYPES,
    ) -> None:
        self.file = file
        n = int.from_bytes(file.read(8), "little")
        try:
            if n > _MAX_HEADER:
                raise ValueError(f"a header of {n} bytes, over {_MAX_HEADER}")
            header = parse_json(file.read(n).decode())
            with safe_open(path, framework="numpy"):
                pass  # dtypes, shapes and places fit each other and the size
        except (SafetensorError, ValueError) as error:
            why = str(error).removeprefix("Error while deserializing header: ")
            raise ValueError(
                f"wanted a whole safetensors file, got {why}"
            ) from None
        self.metadata: Metadata = header.pop("__metadata__", None) or {}
        if len(header) > MAX_TENSORS:
            raise ValueError(
                f"wanted at most {MAX_TENSORS} tensors, got {len(header)}"
            )
        self.tensors: Tensors = {}
        self._starts: dict[str, int] = {}
        for name, entry in header.items():
            where = f"for {printable(name, 100)!r}"
            if entry["dtype"] not in dtypes:
                raise ValueError(
                    f"wanted one of {', '.join(dtypes)} {where}, got the "
                    f"dtype {entry['dtype']!r}"
                )
            if len(entry) > 3 or len(entry["shape"]) > 8:
                raise ValueError(
                    "wanted dtype, data_offsets and a shape of at most 8 "
                    f"axes {where}, got more"
                )
            self.tensors[name] = torch.empty(
                entry["shape"], dtype=dtypes[entry["dtype"]], device="meta"
            )
            self._starts[name] = 8 + n + entry["data_offsets"][0]

    def get_tensor(self, name: str) -> Tensor:
        """Return a tensor; ValueError unless it is whole and finite."""
        tensor = torch.empty_like(self.tensors[name], device="cpu")
        data = tensor.reshape(-1).view(torch.uint8).numpy().data
        self.file.seek(self._starts[name])
        if self.file.readinto(data) != len(data):
            raise ValueError("wanted a whole safetensors file: it shrank")
        _check_finite(name, tensor)
        return tensor

    def read(self) -> Tensors:
        """Return the tensors of a file of write_tensors, with their numbers.

        Raises:
            ValueError: A number is infinite or NaN, or the digest does not
                fit: the file is altered, or of another program.
        """
        tensors = {name: self.get_tensor(name) for name in self.tensors}
        metadata = dict(self.metadata)
        if metadata.pop("digest", "") != _digest(tensors, metadata):
            raise ValueError(
                "altered, or not written by attention_book: the digest does "
                "not fit"
            )
        return tensors


def _check_finite(name: str, tensor: Tensor) -> None:
    """Raise ValueError if there is infinity or NaN in a tensor, in fp32."""
    if tensor.dtype == torch.float64:  # of which fp32 may make infinity
        tensor = tensor.float()
    if tensor.numel() and not all(
        math.isfinite(x) for x in map(Tensor.item, tensor.aminmax())
    ):
        raise ValueError(
            f"wanted finite numbers in {printable(name, 100)!r}, "
            "got infinity or NaN"
        )


def _digest(tensors: Tensors, metadata: Metadata) -> str:
    """Return the SHA-256 of all tensors and all metadata."""
    digest = hashlib.sha256(json.dumps(sorted(metadata.items())).encode())
    for name, tensor in sorted(tensors.items()):
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
        digest.update(tensor.reshape(-1).view(torch.uint8).numpy().data)
    return digest.hexdigest()


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
    with Path(path).open("rb") as file, prefix_errors(path):
        yield TensorFile(path, file, dtypes)


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


def _encode(tensors: Tensors, metadata: Metadata) -> bytes:
    """Return the content of a file; ValueError if none could read it."""
    flat = {name: t.cpu().contiguous() for name, t in tensors.items()}
    for name, tensor in flat.items():
        if tensor.dtype not in DTYPES.values():
            known = ", ".join(str(dtype) for dtype in DTYPES.values())
            raise ValueError(
                f"{name} must be one of {known}, got {tensor.dtype}"
            )
        _check_finite(name, tensor)
    data = save(flat, metadata | {"digest": _digest(flat, metadata)})
    n = int.from_bytes(data[:8], "little")
    if n > _MAX_HEADER or len(flat) > MAX_TENSORS:
        raise ValueError(
            f"a file must have at most {MAX_TENSORS} tensors and a header of "
            f"{_MAX_HEADER} bytes, got {len(flat)} and {n}"
        )
    return data


def write_tensors(
    path: str | Path, tensors: Tensors, metadata: Metadata
) -> None:
    """Write a safetensors file: whole, or not at all.

    Raises:
        ValueError: A tensor that no file may hold: of whole numbers, or
            infinite, or too many.
        OSError: It can't be written; what was there before is still there.
    """
    try:
        data = _encode(tensors, metadata)
    except ValueError as error:
        raise ValueError(f"{path}: not written: {error}") from None
    write_file(path, data)


def read_tensors(path: str | Path) -> tuple[Tensors, Metadata]:
    """Read a file of write_tensors.

    Raises:
        OSError: There is no such file, or it can't be read.
        ValueError: It is incomplete, altered, or of another program.
    """
    with open_tensors(path) as file:
        tensors = file.read()
        metadata = dict(file.metadata)
    del metadata["digest"]
    return tensors, metadata
