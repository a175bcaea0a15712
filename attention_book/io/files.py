# Made from docs/source/checkpoints.md (479423ba2893). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
import hashlib
import io
import json
import os
import secrets
import shutil
from contextlib import suppress
from pathlib import Path

import torch
from safetensors.torch import save

from attention_book.io.tensor_files import (
    DTYPES,
    Metadata,
    TensorFile,
    Tensors,
    check_finite,
    check_regular,
    open_tensors,
)


__all__ = [
    "read_signed",
    "read_tensors",
    "target_of",
    "write_file",
    "write_tensors",
]


def _digest(tensors: Tensors, metadata: Metadata) -> str:
    """Return the SHA-256 of all tensors and all metadata."""
    digest = hashlib.sha256(json.dumps(sorted(metadata.items())).encode())
    for name, tensor in sorted(tensors.items()):
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
        digest.update(tensor.reshape(-1).view(torch.uint8).numpy().data)
    return digest.hexdigest()


def _encode(tensors: Tensors, metadata: Metadata) -> bytes:
    """Return the content of a file; ValueError if none could read it."""
    flat = {name: t.cpu().contiguous() for name, t in tensors.items()}
    for name, tensor in flat.items():
        if tensor.dtype not in DTYPES.values():
            known = ", ".join(str(dtype) for dtype in DTYPES.values())
            raise ValueError(
                f"{name} must be one of {known}, got {tensor.dtype}"
            )
        check_finite(name, tensor)
    data = save(flat, metadata | {"digest": _digest(flat, metadata)})
    TensorFile(io.BytesIO(data))
    return data


def target_of(path: str | Path) -> Path:
    """Return the file that is to be written: a link is followed.

    Raises:
        OSError: It can't be written, because it is a folder, a device,
            protected, or a link to itself.
    """
    target = Path(os.path.realpath(path))
    try:
        check_regular(target)
    except FileNotFoundError:  # it is to be made
        return target
    if not os.access(target, os.W_OK):
        raise PermissionError(f"{path}: wanted to write, but it is read-only")
    return target


def _sync_folder(folder: Path) -> None:
    """Bring a renaming to the disk, where the system lets folders be open."""
    with suppress(OSError):
        opened = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(opened)
        finally:
            os.close(opened)


def write_file(path: str | Path, data: bytes) -> None:
    """Write a file: whole, or not at all.

    Raises:
        OSError: It can't be written; what was there before is still there.
    """
    target = target_of(path)
    part = Path(f"{target}.{secrets.token_hex(4)}.part")  # no other writer's
    try:
        with part.open("xb") as file:
            if target.exists():
                shutil.copymode(target, part)
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        part.replace(target)
        _sync_folder(target.parent)
    except OSError as error:
        raise OSError(f"{path}: could not be written: {error}") from None
    finally:
        with suppress(OSError):  # it is gone if all went well
            part.unlink()


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


def read_signed(file: TensorFile) -> Tensors:
    """Return the tensors of an open file of write_tensors.

    Raises:
        ValueError: It is incomplete, altered, or of another program.
    """
    tensors = file.read()
    metadata = dict(file.metadata)
    if metadata.pop("digest", "") != _digest(tensors, metadata):
        raise ValueError(
            "altered, or not written by attention_book: the digest does not "
            "fit"
        )
    return tensors


def read_tensors(path: str | Path) -> tuple[Tensors, Metadata]:
    """Read a file of write_tensors.

    Raises:
        OSError: There is no such file, or it can't be read.
        ValueError: It is incomplete, altered, or of another program.
    """
    with open_tensors(path) as file:
        tensors = read_signed(file)
        metadata = dict(file.metadata)
    del metadata["digest"]
    return tensors, metadata
