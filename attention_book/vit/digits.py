# Made from docs/chapters/15-vit.md (6eb744ce25ec). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor


class Digits(NamedTuple):
    """Images of handwritten digits, and which they are."""

    images: Float[Tensor, "images 1 8 8"]  # ink, from 0 to 1
    labels: Int[Tensor, " images"]


def digits() -> tuple[Digits, Digits]:
    """Return the 1,797 digits of scikit-learn: for training, and held out.

    Every fifth image of each digit is held out.
    """
    try:
        from sklearn.datasets import (  # type: ignore[import-untyped]
            load_digits,
        )
    except ImportError:
        raise ImportError("run first: pip install scikit-learn") from None
    data = load_digits()
    images = torch.tensor(data.images / 16, dtype=torch.float32)[:, None]
    labels = torch.tensor(data.target)
    same = labels[:, None] == labels
    out = same.tril().sum(dim=1) % 5 == 0  # the fifth, tenth … of its kind
    return (
        Digits(images[~out], labels[~out]),
        Digits(images[out], labels[out]),
    )
