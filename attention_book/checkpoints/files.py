# Made from docs/chapters/34-checkpoints.md (31bb140babf0). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
import hashlib
import json
import os
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import Tensor


Tensors = dict[str, Tensor]
Metadata = dict[str, str]


def digest_of(tensors: Tensors, metadata: Metadata) -> str:
    """Return a digest of all numbers and all metadata."""
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
        OSError: It can not be written; what was there before is still there.
    """
    path, beside = Path(path), Path(f"{path}.part")
    flat = {name: t.cpu().contiguous() for name, t in tensors.items()}
    try:
        with beside.open("wb") as file:
            file.write(
                save(flat, metadata | {"digest": digest_of(flat, metadata)})
            )
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
    except OSError as error:
        beside.unlink(missing_ok=True)
        raise OSError(f"{path}: could not be written: {error}") from None


def read_tensors(path: str | Path) -> tuple[Tensors, Metadata]:
    """Read what write_tensors wrote; ValueError if it is not as it was."""
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
    if metadata.pop("digest", "") != digest_of(tensors, metadata):
        raise ValueError(
            f"{path}: altered, or not written by attention_book: the digest "
            "does not fit"
        )
    return tensors, metadata
