# Made from docs/chapters/34-checkpoints.md (c10565d16aee). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
import hashlib
import json
import os
import secrets
from contextlib import suppress
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import Tensor


__all__ = ["Metadata", "Tensors", "read_tensors", "write_tensors"]


Tensors = dict[str, Tensor]
Metadata = dict[str, str]


def _digest(tensors: Tensors, metadata: Metadata) -> str:
    """Return the SHA-256 of all tensors and all metadata."""
    digest = hashlib.sha256(json.dumps(sorted(metadata.items())).encode())
    for name, tensor in sorted(tensors.items()):
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
        digest.update(tensor.reshape(-1).view(torch.uint8).numpy().data)
    return digest.hexdigest()


def write_tensors(
    path: str | Path, tensors: Tensors, metadata: Metadata
) -> None:
    """Write a safetensors file: whole, or not at all.

    Raises:
        OSError: It can't be written; what was there before is still there.
    """
    path = Path(path)
    part = Path(f"{path}.{secrets.token_hex(4)}.part")  # no other writer's
    flat = {name: t.cpu().contiguous() for name, t in tensors.items()}
    signed = metadata | {"digest": _digest(flat, metadata)}
    try:
        with part.open("wb") as file:
            file.write(save(flat, signed))
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    except OSError as error:
        raise OSError(f"{path}: could not be written: {error}") from None
    finally:
        with suppress(OSError):  # it is gone if all went well
            part.unlink()


def read_tensors(path: str | Path) -> tuple[Tensors, Metadata]:
    """Read a file of write_tensors.

    Raises:
        OSError: There is no such file, or it can't be read.
        ValueError: It is incomplete, altered, or of another program.
    """
    if Path(path).is_dir():
        raise IsADirectoryError(f"{path}: wanted a file, got a folder")
    data = Path(path).read_bytes()  # at once: it may be replaced meanwhile
    try:
        tensors = load(data)
    except SafetensorError as error:
        raise ValueError(
            f"{path}: wanted a whole safetensors file, got: {error}"
        ) from None
    header = data[8 : 8 + int.from_bytes(data[:8], "little")]
    metadata: Metadata = json.loads(header).get("__metadata__", {})
    if metadata.pop("digest", "") != _digest(tensors, metadata):
        raise ValueError(
            f"{path}: altered, or not written by attention_book: the digest "
            "does not fit"
        )
    return tensors, metadata
