# Made from docs/chapters/43-training-loop.md (82ce01d3e620). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
import hashlib
import json
import random
from collections.abc import Sequence
from typing import NamedTuple

import torch
from jaxtyping import Int
from torch import Tensor

from attention_book.corpus.batches import make_batches, pad
from attention_book.corpus.special_tokens import BOS, EOS
from attention_book.corpus.tokenizers import Tokenizer
from attention_book.padding import PaddingLayout
from attention_book.runtime import bucket_length
from attention_book.training.config import TrainingConfig


__all__ = ["Batch", "BatchLoader", "Example", "encode_pairs", "make_batch"]


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
    return Batch(
        source.to(device),
        source_lengths.to(device),
        target.to(device),
        target_lengths.to(device),
        source_layout.to(device),
        target_layout.to(device),
        n_targets=len(target_layout.indices),
    )


def _longest(examples: Sequence[Example]) -> tuple[int, int]:
    """Return the lengths of the longest source and of the longest labels."""
    sources, targets = zip(*examples, strict=True)
    return max(map(len, sources)), max(map(len, targets)) - 1


class BatchLoader:
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

    def __getitem__(self, number: int) -> Batch:
        """Return batch number 0, 1, …, through one epoch after another."""
        epoch, i = divmod(number, len(self.order))
        if epoch != self._epoch:
            self._epoch = epoch
            self.order = self._shuffle(epoch)
        rows = [self.examples[row] for row in self.order[i]]
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
