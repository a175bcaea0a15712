# Made from docs/source/classifiers.md (52afc6bb15e6). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""Training classifiers of images and of texts.

Explained on the page "Training classifiers".
"""

import hashlib
import math
import random
from collections.abc import Sequence
from typing import NamedTuple

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence

from attention_book._checks import check_size
from attention_book.data.batches import pad
from attention_book.data.digits import Digits
from attention_book.models.vit import Images
from attention_book.training.config import TrainingConfig
from attention_book.training.loading import (
    BatchSource,
    Example,
    TranslationBatches,
    to_device,
)
from attention_book.training.loop import Trainer


__all__ = [
    "ImageBatches",
    "LabelledBatch",
    "TextBatches",
    "classification_loss",
    "predict",
    "random_affine",
    "train_classifier",
]


_IGNORED = -100  # the label that cross_entropy leaves out


class LabelledBatch(NamedTuple):
    """Examples that are trained on together."""

    inputs: tuple[Tensor, ...]  # what the model takes
    labels: Int[Tensor, "..."]  # -100 where there is none
    n_targets: int  # labels that count


def random_affine(
    images: Images, amount: float, generator: torch.Generator
) -> Images:
    """Shift, slant, turn, stretch each image a little, each in its own way.

    amount is the standard deviation of the six numbers of the map; a shift
    of 1 is half the image.
    """
    noise = torch.randn(len(images), 2, 3, generator=generator)
    maps = (torch.eye(2, 3) + amount * noise).to(images.dtype)
    (maps,) = to_device([maps], images.device)
    grid = F.affine_grid(maps, list(images.shape), align_corners=False)
    return F.grid_sample(images, grid, align_corners=False)


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

    def __getitem__(self, number: int) -> LabelledBatch:
        epoch, i = divmod(number, len(self.order))
        if epoch != self._epoch:
            self._epoch = epoch
            self.order = self._shuffle(epoch)
        rows = self.order[i]
        images = self.data.images[rows]
        if self.augmentation:
            generator = self._generator(f"batch {number}")
            images = random_affine(images, self.augmentation, generator)
        return LabelledBatch((images,), self.data.labels[rows], len(rows))

    def fingerprint(self) -> str:
        """Return a digest of the batches, by which a run knows its own."""
        options = (self.batch_size, self.augmentation, self.seed)
        digest = hashlib.sha256(repr(options).encode())
        for tensor in self.data:
            numbers = tensor.cpu().reshape(-1).view(torch.uint8)
            digest.update(numbers.numpy().data)
        return digest.hexdigest()


def _collate(
    examples: Sequence[Example], device: torch.device
) -> LabelledBatch:
    """Pad texts and their labels to one batch."""
    token_ids, lengths = pad([tokens for tokens, _ in examples])
    each = [torch.tensor(label) for _, label in examples]
    labels = pad_sequence(each, True, _IGNORED)
    n_targets = int((labels != _IGNORED).sum())
    moved = to_device([token_ids, lengths, labels], device)
    return LabelledBatch((moved[0], moved[1]), moved[2], n_targets)


class TextBatches(TranslationBatches):
    """Batches without end of texts: token ids, and one or several labels.

    Args:
        examples: As many labels as tokens each, or one.
        batch_tokens: Largest size of a batch, padding included.
        seed: Decides the order of the batches.
        device: Where the batches shall lie.

    Raises:
        ValueError: There are no examples, or one is longer than a batch.
    """

    def __init__(
        self,
        examples: Sequence[Example],
        *,
        batch_tokens: int = 600,
        seed: int = 0,
        device: torch.device | str = "cpu",
    ) -> None:
        config = TrainingConfig(batch_tokens=batch_tokens, seed=seed)
        super().__init__(examples, config, device)

    def collate(self, rows: Sequence[Example]) -> LabelledBatch:
        return _collate(rows, self.device)


def classification_loss(
    model: nn.Module, batch: LabelledBatch, label_smoothing: float = 0.0
) -> Float[Tensor, ""]:
    """Mean cross-entropy of the labels under the model's logits."""
    logits = model(*batch.inputs).flatten(0, -2)
    return F.cross_entropy(
        logits.float(),
        batch.labels.flatten(),
        ignore_index=_IGNORED,
        label_smoothing=label_smoothing,
    )


def train_classifier(
    model: nn.Module,
    batches: BatchSource,
    *,
    n_epochs: int = 40,
    learning_rate: float = 2e-3,
    weight_decay: float = 0.05,
    seed: int = 0,
) -> list[float]:
    """Train any classifier in place, leave it in eval mode; return losses.

    Args:
        model: From the inputs of a batch to logits, on the batches' device.
        batches: An ImageBatches, a TextBatches, or another source.
        n_epochs: How often each example is seen.
        learning_rate: Where the cosine begins, after a tenth of the steps.
        weight_decay: AdamW's.
        seed: Decides dropout.

    Raises:
        ValueError: A number is out of range.
    """
    check_size("n_epochs", n_epochs)
    max_steps = n_epochs * len(batches)
    config = TrainingConfig(
        max_steps=max_steps,
        learning_rate=learning_rate,
        warmup_steps=max(1, max_steps // 10),
        betas=(0.9, 0.999),
        weight_decay=weight_decay,
        max_grad_norm=math.inf,
        seed=seed,
    )
    trainer = Trainer(model, batches, config, classification_loss)
    for _ in range(max_steps):
        trainer.step()
    model.eval()
    return trainer.losses


@torch.no_grad()
def predict(
    model: nn.Module, examples: Sequence[Example]
) -> tuple[Int[Tensor, " labels"], Int[Tensor, " labels"]]:
    """Return the labels that a model finds in texts and the right ones."""
    batch = _collate(examples, next(model.parameters()).device)
    labels = batch.labels
    found = model(*batch.inputs).argmax(dim=-1).view(labels.shape)
    real = labels != _IGNORED
    return found[real], labels[real]
