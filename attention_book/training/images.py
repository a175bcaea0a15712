# Made from docs/source/images.md (8ed9236706bc). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""Training image classifiers, as the chapter "Vision Transformer" does."""

import hashlib
import math
import random
from typing import NamedTuple

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from attention_book._checks import check_number, check_size
from attention_book.data.digits import Digits
from attention_book.models.vit import Images
from attention_book.training.config import TrainingConfig
from attention_book.training.loading import to_device
from attention_book.training.loop import Trainer


__all__ = [
    "ImageBatch",
    "ImageBatches",
    "classification_loss",
    "random_affine",
    "train_classifier",
]


def random_affine(
    images: Images, amount: float, generator: torch.Generator
) -> Images:
    """Shift, slant, turn, stretch each image a little, each in its own way.

    amount is the standard deviation of the six numbers of the map; a shift
    of 1 is half the image.

    Raises:
        ValueError: No images, or an amount that is no number.
    """
    fits = images.ndim == 4 and images.is_floating_point()
    if not fits or not images.numel():
        raise ValueError(
            "images must be a floating-point tensor (batch, channels, height, "
            f"width), not empty, got {images.dtype} of shape "
            f"{tuple(images.shape)}"
        )
    check_number("amount", amount)
    noise = torch.randn(len(images), 2, 3, generator=generator)
    maps = (torch.eye(2, 3) + amount * noise).to(images.dtype)
    (maps,) = to_device([maps], images.device)
    grid = F.affine_grid(maps, list(images.shape), align_corners=False)
    return F.grid_sample(images, grid, align_corners=False)


class ImageBatch(NamedTuple):
    """Images that are trained on together."""

    images: Images
    labels: Int[Tensor, " batch"]
    n_targets: int  # labels in the batch


class ImageBatches:
    """Batches without end: the same number is always the same batch.

    Args:
        data: What they are made of, each epoch in another order; the batches
            lie on its device.
        batch_size: Images in a batch; the last of an epoch may have fewer.
        augmentation: The amount of random_affine; 0 for images as they are.
        seed: Decides the order of the images, and their augmentation.

    Raises:
        ValueError: There are no images, or batch_size is not positive.
    """

    def __init__(
        self,
        data: Digits,
        *,
        batch_size: int = 64,
        augmentation: float = 0.1,
        seed: int = 0,
    ) -> None:
        if not len(data.images):
            raise ValueError("data must not be empty")
        check_size("batch_size", batch_size)
        self.data = data
        self.batch_size = batch_size
        self.augmentation = augmentation
        self.seed = seed
        self._epoch = 0
        self.order = self._shuffle(0)

    def __len__(self) -> int:
        """How many batches an epoch has."""
        return len(self.order)

    def _generator(self, use: str) -> torch.Generator:
        """Return a random generator for one use, seeded by its name."""
        rng = random.Random(f"{self.seed} {use}")
        return torch.Generator().manual_seed(rng.getrandbits(63))

    def _shuffle(self, epoch: int) -> tuple[Int[Tensor, " batch"], ...]:
        """Return which images are in each batch of an epoch."""
        n = len(self.data.images)
        order = torch.randperm(n, generator=self._generator(f"epoch {epoch}"))
        (order,) = to_device([order], self.data.images.device)
        return torch.split(order, self.batch_size)

    def __getitem__(self, number: int) -> ImageBatch:
        epoch, i = divmod(number, len(self.order))
        if epoch != self._epoch:
            self._epoch = epoch
            self.order = self._shuffle(epoch)
        rows = self.order[i]
        images = self.data.images[rows]
        if self.augmentation:
            generator = self._generator(f"batch {number}")
            images = random_affine(images, self.augmentation, generator)
        return ImageBatch(images, self.data.labels[rows], len(rows))

    def fingerprint(self) -> str:
        """Return a digest of the batches, by which a run knows its own."""
        options = (self.batch_size, self.augmentation, self.seed)
        digest = hashlib.sha256(repr(options).encode())
        for tensor in self.data:
            numbers = tensor.cpu().reshape(-1).view(torch.uint8)
            digest.update(numbers.numpy().data)
        return digest.hexdigest()


def classification_loss(
    model: nn.Module, batch: ImageBatch, label_smoothing: float = 0.0
) -> Float[Tensor, ""]:
    """Mean cross-entropy of the labels under the model's logits."""
    logits = model(batch.images)
    return F.cross_entropy(
        logits.float(), batch.labels, label_smoothing=label_smoothing
    )


def train_classifier(
    model: nn.Module,
    data: Digits,
    *,
    n_epochs: int = 40,
    learning_rate: float = 2e-3,
    augmentation: float = 0.1,
    seed: int = 0,
) -> list[float]:
    """Train any classifier of images in batches of 64; return its losses.

    Args:
        model: From images to logits; is trained in place, on data's device.
        data: The training set.
        n_epochs: How often it sees each image.
        learning_rate: The peak, at the end of the warm-up.
        augmentation: The amount of random_affine.
        seed: Decides dropout, order of the images, and their augmentation.
    """
    batches = ImageBatches(data, augmentation=augmentation, seed=seed)
    max_steps = n_epochs * len(batches)
    config = TrainingConfig(
        max_steps=max_steps,
        learning_rate=learning_rate,
        warmup_steps=max(1, max_steps // 10),
        betas=(0.9, 0.999),
        weight_decay=0.05,
        max_grad_norm=math.inf,
        seed=seed,
    )
    trainer = Trainer(model, batches, config, classification_loss)
    for _ in range(max_steps):
        trainer.step()
    model.eval()
    return trainer.losses
