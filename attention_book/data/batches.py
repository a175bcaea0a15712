# Made from docs/transformer/corpus.md (1101f4e55377). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""Padding, and batches of like length. Explained in the chapter "A corpus"."""

import random
from collections.abc import Sequence

import torch
from jaxtyping import Int
from torch import Tensor

from attention_book.tokenizers.special_tokens import PAD


__all__ = ["make_batches", "pad"]


def pad(
    sequences: Sequence[Sequence[int]], length: int | None = None
) -> tuple[Int[Tensor, "batch length"], Int[Tensor, " batch"]]:
    """Pad token ids at the end, to a length or the longest; return lengths."""
    lengths = torch.tensor([len(sequence) for sequence in sequences])
    shape = len(sequences), length or int(lengths.max())
    token_ids = torch.full(shape, PAD)
    for row, sequence in zip(token_ids, sequences, strict=True):
        row[: len(sequence)] = torch.tensor(sequence)
    return token_ids, lengths


def make_batches(
    lengths: Sequence[int], batch_tokens: int, rng: random.Random
) -> list[list[int]]:
    """Group sentences of like length; return the indices of each batch.

    A batch has at most batch_tokens tokens, padding included. Equally long
    sentences and the batches themselves are shuffled by rng.

    Raises:
        ValueError: A sentence alone is longer than batch_tokens.
    """
    if lengths and max(lengths) > batch_tokens:
        raise ValueError(
            f"batch_tokens must be {max(lengths)}, the longest sentence, "
            f"or more, got {batch_tokens}"
        )
    order = sorted(
        range(len(lengths)), key=lambda i: (lengths[i], rng.random())
    )
    batches: list[list[int]] = []
    for i in order:  # the longest of a batch is its last
        if not batches or (len(batches[-1]) + 1) * lengths[i] > batch_tokens:
            batches.append([])
        batches[-1].append(i)
    rng.shuffle(batches)
    return batches
