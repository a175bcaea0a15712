# Made from docs/source/images.md (99108835bac1). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""A classifier of handwriting, ready for use.

Explained on the page "Image files and the classifier".
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from attention_book.compute import (
    ON_CPU,
    ComputeConfig,
    compute_context,
    inference_copy,
)
from attention_book.data.images import read_digit
from attention_book.io.checkpoints import load_model, save_model
from attention_book.models.vit import ViT


__all__ = ["DIGITS", "MIN_CONFIDENCE", "Classifier"]


DIGITS = Path(__file__).parents[1] / "models" / "digits.safetensors"
MIN_CONFIDENCE = 0.5  # an answer less probable than this is in doubt


class Classifier:
    """A ViT for handwriting in grey, and the names of its classes.

    Args:
        model: Takes images (batch, 1, size, size), where size divides 64; it
            is copied.
        labels: The name of each class.
        compute: On which device, and in which precision.

    Raises:
        ValueError: The model is not for such images, or labels do not fit.
    """

    def __init__(
        self,
        model: ViT,
        labels: Sequence[str],
        compute: ComputeConfig = ON_CPU,
    ) -> None:
        c = model.config
        got = (c.n_channels, c.n_classes)
        wanted = (1, len(labels))
        if got != wanted:
            raise ValueError(
                f"model must have n_channels and n_classes {wanted}, got {got}"
            )
        if 64 % c.image_size:
            raise ValueError(
                f"model's image_size must divide 64, got {c.image_size}"
            )
        self.labels = list(labels)
        self.compute = compute
        self.model = inference_copy(model, compute)

    @classmethod
    def load(
        cls, path: str | Path = DIGITS, compute: ComputeConfig = ON_CPU
    ) -> "Classifier":
        """Read what save wrote; by default the model of the ten digits.

        Raises:
            ValueError: The file holds no model of the package, or another.
        """
        saved = load_model(path)
        if not isinstance(saved.model, ViT):
            raise ValueError(
                f"{path}: wanted a ViT, got a {type(saved.model).__name__}"
            )
        try:
            return cls(saved.model, saved.labels, compute)
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from None

    def save(
        self, path: str | Path, dtype: torch.dtype = torch.float32
    ) -> None:
        """Write model and labels into a safetensors file, numbers as dtype."""
        save_model(path, self.model, labels=self.labels, dtype=dtype)

    @torch.no_grad()
    def classify(self, source: Any) -> list[tuple[str, float]]:
        """Return each label with its probability, the likeliest first.

        Args:
            source: The path of an image file, or a Pillow image.

        Raises:
            ValueError: It is no image, or an empty one.
        """
        compute = self.compute
        image = read_digit(source, self.model.config.image_size)
        images = image[None].to(compute.device, compute.dtype)
        with compute_context(compute):
            logits = self.model(images)
        probabilities = logits.float().softmax(dim=-1)[0].tolist()
        pairs = zip(self.labels, probabilities, strict=True)
        return sorted(pairs, key=lambda pair: -pair[1])
