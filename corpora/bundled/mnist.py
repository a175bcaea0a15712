"""The 10,000 digits of MNIST that a user has downloaded, and their split.

Y. LeCun, C. Cortes and C. Burges, CC BY-SA 3.0: t10k-images-idx3-ubyte.gz
and t10k-labels-idx1-ubyte.gz, none of which the project contains. A file
begins with two zeros, 8 for bytes and the number of axes; their sizes follow,
in 4 bytes each, and then the numbers.
"""

import gzip
import math
import zlib
from pathlib import Path

import torch
from torch import Tensor

from attention_book.data.digits import Digits


NAMES = ("t10k-images-idx3-ubyte.gz", "t10k-labels-idx1-ubyte.gz")
SPLIT = (8_000, 1_000, 1_000)  # to train on, for validation, held out


def read_idx(path: Path) -> Tensor:
    """Read a gzipped idx file of bytes.

    Raises:
        OSError: There is no such file, or it can't be read.
        ValueError: It is another kind of file, or of another length than
            its header says.
    """
    try:
        data = gzip.decompress(path.read_bytes())
    except (gzip.BadGzipFile, zlib.error, EOFError) as error:
        raise ValueError(f"{path}: wanted a gzip file, got: {error}") from None
    start = 4 + 4 * data[3] if len(data) > 3 else 4
    if data[:3] != b"\0\0\x08" or len(data) < start:
        raise ValueError(
            f"{path}: wanted an idx file of bytes, got {data[:4]!r}"
        )
    shape = [
        int.from_bytes(data[i : i + 4], "big") for i in range(4, start, 4)
    ]
    if len(data) - start != math.prod(shape):
        raise ValueError(
            f"{path}: wanted {math.prod(shape)} bytes for {shape}, "
            f"got {len(data) - start}"
        )
    numbers = torch.frombuffer(bytearray(data), dtype=torch.uint8)
    return numbers[start:].view(shape)


def _find(folder: Path, name: str) -> Path:
    """Return the file of this name, perhaps with another beginning."""
    found = sorted(folder.glob(f"*{name[1:]}"))
    return found[0] if found else folder / name


def load_mnist(folder: Path) -> tuple[Digits, Digits, Digits]:
    """Return digits to train on, for validation, and held out.

    Raises:
        OSError: A file can't be read.
        ValueError: A file is not what it should be.
    """
    images, labels = (read_idx(_find(folder, name)) for name in NAMES)
    n = sum(SPLIT)
    shapes = (tuple(images.shape), tuple(labels.shape))
    if shapes != ((n, 28, 28), (n,)):
        raise ValueError(
            f"{folder}: wanted {n} images of 28 by 28 and their labels, "
            f"got {shapes}"
        )
    order = torch.randperm(n, generator=torch.Generator().manual_seed(0))
    return tuple(
        Digits(images[rows, None] / 255, labels[rows].long())
        for rows in order.split(SPLIT)
    )
