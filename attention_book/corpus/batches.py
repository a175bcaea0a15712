# Made from docs/chapters/11-corpus.md (ecf99e5f2f55). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
import random

import torch
from torch import Tensor

from attention_book.corpus.special_tokens import PAD


def make_batches(
    lengths: list[int], batch_tokens: int, rng: random.Random
) -> list[list[int]]:
    """Group sentences of like length, so that none is far too long.

    Args:
        lengths: The length of each sentence, in tokens.
        batch_tokens: The most that a batch may hold, padding included.
        rng: Decides the order of equally long sentences and of batches.

    Returns:
        For each batch, which sentences are in it.

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


def pad(sentences: list[list[int]]) -> tuple[Tensor, Tensor]:
    """Put sentences into one table, padded at the end; also their lengths."""
    lengths = torch.tensor([len(numbers) for numbers in sentences])
    table = torch.full((len(sentences), int(lengths.max())), PAD)
    for row, numbers in zip(table, sentences, strict=True):
        row[: len(numbers)] = torch.tensor(numbers)
    return table, lengths
