# Made from docs/source/training-loop.md (cdfd58abdd0b). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""Batches of sentence pairs. Explained in "Details of the training loop"."""

import hashlib
import json
import random
from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol, runtime_checkable

import torch
from jaxtyping import Int
from torch import Tensor

from attention_book.attention.packed import PaddingLayout
from attention_book.compute import bucket_length
from attention_book.data.batches import make_batches, pad
from attention_book.tokenizers.special_tokens import BOS, EOS
from attention_book.tokenizers.words import Tokenizer
from attention_book.training.config import TrainingConfig


__all__ = [
    "Batch",
    "BatchSource",
    "Example",
    "TranslationBatches",
    "encode_pairs",
    "make_batch",
    "to_device",
]


Example = tuple[list[int], list[int]]  # source; target with <bos> and <eos>


class Batch(NamedTuple):
    """Sentence pairs that are trained on together."""

    source: Int[Tensor, "batch source"]
    source_lengths: Int[Tensor, " batch"]
    target: Int[Tensor, "batch target"]  # with <bos> and <eos>
    target_lengths: Int[Tensor, " batch"]
    source_layout: PaddingLayout  # of the source
    target_layout: PaddingLayout  # of the labels: one shorter than target
    n_targets: int  # labels in the batch


def encode_pairs(
    pairs: Sequence[tuple[str, str]], source: Tokenizer, target: Tokenizer
) -> list[Example]:
    """Turn pairs of texts into token ids, with both ends on the target."""
    return [
        (source.encode(text), [BOS, *target.encode(translation), EOS])
        for text, translation in pairs
    ]


def make_batch(
    examples: Sequence[Example],
    device: torch.device,
    lengths: tuple[int | None, int | None] = (None, None),
) -> Batch:
    """Pad the examples into one batch, sources and targets to these lengths.

    None stands for the length of the longest.
    """
    sources, targets = zip(*examples, strict=True)
    source, source_lengths = pad(sources, lengths[0])
    target, target_lengths = pad(targets, lengths[1])
    source_layout = PaddingLayout(source_lengths, source.shape[1])
    target_layout = PaddingLayout(target_lengths - 1, target.shape[1] - 1)
    layouts = (source_layout, target_layout)
    n_targets = len(target_layout.indices)
    ids = [source, source_lengths, target, target_lengths]
    indices = [layout.indices for layout in layouts]
    masks = [layout.mask for layout in layouts]
    moved = to_device([*ids, *indices, *masks], device)
    source_layout.indices, target_layout.indices = moved[4:6]
    source_layout.mask, target_layout.mask = moved[6:]
    source, source_lengths, target, target_lengths = moved[:4]
    return Batch(
        source, source_lengths, target, target_lengths, *layouts, n_targets
    )


def _longest(examples: Sequence[Example]) -> tuple[int, int]:
    """Return the lengths of the longest source and of the longest labels."""
    sources, targets = zip(*examples, strict=True)
    return max(map(len, sources)), max(map(len, targets)) - 1


class TranslationBatches:
    """Batches without end: the same number is always the same batch.

    Args:
        examples: What they are made of, each epoch in another order.
        config: Says how much a batch holds, and the seed of the order.
        device: Where the batches shall lie.

    Attributes:
        order: Which examples are in each batch of the present epoch.

    Raises:
        ValueError: There are no examples, or one is longer than a batch.
    """

    def __init__(
        self,
        examples: Sequence[Example],
        config: TrainingConfig,
        device: torch.device | str = "cpu",
    ) -> None:
        if not examples:
            raise ValueError("examples must not be empty")
        self.examples = examples
        self.config = config
        self.device = torch.device(device)
        self._lengths = [max(map(len, example)) for example in examples]
        self._max_lengths = _longest(examples)
        self._epoch = 0
        self.order = self._shuffle(0)

    def _shuffle(self, epoch: int) -> list[list[int]]:
        rng = random.Random(f"{self.config.seed} {epoch}")
        return make_batches(self._lengths, self.config.batch_tokens, rng)

    def __len__(self) -> int:
        """Return how many batches an epoch has."""
        return len(self.order)

    def __getitem__(self, number: int) -> Any:
        """Return batch number 0, 1, …, through one epoch after another."""
        epoch, i = divmod(number, len(self.order))
        if epoch != self._epoch:
            self._epoch = epoch
            self.order = self._shuffle(epoch)
        return self.collate([self.examples[row] for row in self.order[i]])

    def collate(self, rows: Sequence[Example]) -> Any:
        """Return examples as one batch; other tasks make their own."""
        lengths = _longest(rows)
        source, target = (
            bucket_length(length, max_length, self.device)
            for length, max_length in zip(
                lengths, self._max_lengths, strict=True
            )
        )
        return make_batch(rows, self.device, (source, target + 1))

    def fingerprint(self) -> str:
        """Return a digest of the examples, by which a run knows its own."""
        return hashlib.sha256(json.dumps(self.examples).encode()).hexdigest()


@runtime_checkable
class BatchSource(Protocol):
    """Numbered batches, each with n_targets; an epoch has len of them."""

    def __len__(self) -> int: ...

    def __getitem__(self, number: int, /) -> Any: ...

    def fingerprint(self) -> str: ...


def to_device(tensors: Sequence[Tensor], device: torch.device) -> list[Tensor]:
    """Copy tensors from the CPU to a device.

    To CUDA they go in one piece, through pinned memory, and the CPU goes on
    without waiting for the copy. The widest dtypes come first.
    """
    if device.type != "cuda":
        return [tensor.to(device) for tensor in tensors]
    parts = [tensor.reshape(-1).view(torch.uint8) for tensor in tensors]
    buffer = torch.cat(parts).pin_memory().to(device, non_blocking=True)
    pieces = torch.split(buffer, [len(part) for part in parts])
    return [
        piece.view(tensor.dtype).view(tensor.shape)
        for piece, tensor in zip(pieces, tensors, strict=True)
    ]
