# Made from docs/source/images.md (e1c06ae15474). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
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
from attention_book.io.tensors import open_tensors
from attention_book.models.vit import ViT


__all__ = ["DIGITS", "Classifier"]


DIGITS = Path(__file__).parents[1] / "models" / "digits.safetensors"


class Classifier:
    """A ViT for handwriting in grey, and the names of its classes.

    Args:
        model: Takes images (batch, 1, size, size); it is copied.
        labels: The name of each class.
        compute: On which device, and in which precision.
        threshold: An answer that is less probable is in doubt.

    Raises:
        ValueError: The model is not for such images, labels do not fit, or
            threshold is no probability.
    """

    def __init__(
        self,
        model: ViT,
        labels: Sequence[str],
        compute: ComputeConfig = ON_CPU,
        *,
        threshold: float = 0.5,
    ) -> None:
        c = model.config
        got = (c.n_channels, c.n_classes)
        wanted = (1, len(labels))
        if got != wanted:
            raise ValueError(
                f"model must have n_channels and n_classes {wanted}, got {got}"
            )
        if not 0 <= threshold <= 1:
            raise ValueError(f"threshold must be from 0 to 1, got {threshold}")
        self.labels = list(labels)
        self.threshold = threshold
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
        with open_tensors(path) as file:
            threshold = file.metadata.get("threshold", 0.5)
        try:
            return cls(
                saved.model,
                saved.labels,
                compute,
                threshold=float(threshold),
            )
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from None

    def save(
        self,
        path: str | Path,
        dtype: torch.dtype = torch.float32,
        **metadata: str,
    ) -> None:
        """Write all into a safetensors file, numbers as dtype.

        metadata says more, such as the source of what was learnt from.
        """
        metadata |= {"threshold": str(self.threshold)}
        save_model(
            path,
            self.model,
            labels=self.labels,
            dtype=dtype,
            extra=({}, metadata),
        )

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
