# Made from docs/chapters/37-images.md (d49d19abfc38). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from attention_book.checkpoints.models import load_model, save_model
from attention_book.images.files import read_digit
from attention_book.runtime import (
    ON_CPU,
    ComputeConfig,
    compute_context,
    inference_copy,
)
from attention_book.vit.config import ViTConfig
from attention_book.vit.model import ViT


def check_classes(c: ViTConfig, labels: Sequence[str]) -> None:
    """Raise ValueError unless it is for grey digits, and labels fit."""
    got = (c.n_channels, c.image_size, c.n_classes)
    wanted = (1, 8, len(labels))
    if got != wanted:
        raise ValueError(
            "model must have n_channels, image_size and n_classes "
            f"{wanted}, got {got}"
        )


DIGITS = Path(__file__).parents[1] / "models" / "digits.safetensors"


class Classifier:
    """A ViT for handwriting in grey, 8 by 8, and what its classes are called.

    Args:
        model: Takes images (batch, 1, 8, 8).
        labels: The name of each class.
        compute: Where to compute, and how exactly.
    """

    def __init__(
        self,
        model: ViT,
        labels: Sequence[str],
        compute: ComputeConfig = ON_CPU,
    ) -> None:
        check_classes(model.config, labels)
        self.labels = list(labels)
        self.compute = compute
        self.model = inference_copy(model, compute)

    @classmethod
    def load(
        cls, path: str | Path = DIGITS, compute: ComputeConfig = ON_CPU
    ) -> "Classifier":
        """Read what save wrote; by default the model of the ten digits."""
        model, _, labels = load_model(path)
        if not isinstance(model, ViT):
            raise ValueError(
                f"{path}: wanted a ViT, got a {type(model).__name__}"
            )
        return cls(model, labels, compute)

    def save(
        self, path: str | Path, dtype: torch.dtype = torch.float32
    ) -> None:
        """Write the model into a safetensors file, its numbers as dtype."""
        save_model(path, self.model, labels=self.labels, dtype=dtype)

    @torch.no_grad()
    def classify(self, source: Any) -> list[tuple[str, float]]:
        """Return each label with its probability, the likeliest first.

        source is the path of an image file, or a Pillow image; ValueError
        if it is none, or an empty one.
        """
        there = self.compute.device, self.compute.dtype
        image = read_digit(source)[None].to(*there)
        with compute_context(self.compute):
            shares = self.model(image).float().softmax(-1)[0].tolist()
        pairs = zip(self.labels, shares, strict=True)
        return sorted(pairs, key=lambda pair: -pair[1])
