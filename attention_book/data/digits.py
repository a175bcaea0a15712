# Made from docs/source/images.md (db5834defd75). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""Handwritten digits. Explained in the chapter "Vision Transformer"."""

from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor


__all__ = ["Digits", "load_digits"]


class Digits(NamedTuple):
    """Images of handwritten digits, and which they are."""

    images: Float[Tensor, "images 1 size size"]  # ink, from 0 to 1
    labels: Int[Tensor, " images"]


def load_digits() -> tuple[Digits, Digits]:
    """Return the 1,797 digits of scikit-learn: training set and test set.

    Every fifth image of each digit is in the test set.

    Raises:
        ImportError: scikit-learn is not installed.
    """
    try:
        from sklearn import datasets  # type: ignore[import-untyped]
    except ImportError:
        raise ImportError("run first: pip install scikit-learn") from None
    data = datasets.load_digits()
    images = torch.tensor(data.images / 16, dtype=torch.float32)[:, None]
    labels = torch.tensor(data.target)
    same = labels[:, None] == labels
    test = same.tril().sum(dim=1) % 5 == 0  # the fifth, tenth … of its kind
    return (
        Digits(images[~test], labels[~test]),
        Digits(images[test], labels[test]),
    )
