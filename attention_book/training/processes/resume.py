# Made from docs/source/processes.md (69bef76cca98). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
import hashlib
import json
import shutil
from collections.abc import Sequence
from pathlib import Path

import torch

from attention_book.io.progress import (
    fingerprint,
    load_checkpoint,
    save_checkpoint,
)
from attention_book.io.tensors import Metadata
from attention_book.tokenizers.words import Tokenizer
from attention_book.training.loop import Trainer
from attention_book.training.parallel import ParallelStrategy
from attention_book.training.processes.shards import (
    _shards_folder,
    load_full,
    load_shards,
    newest_shards,
    save_full,
    save_shards,
    steps_saved,
)
from attention_book.training.scale_out import FullyShardedDataParallel


__all__ = [
    "broadcast_bool",
    "check_agreement",
    "exists_on_all_ranks",
    "resume",
    "save",
]


def resume(out: Path, trainer: Trainer) -> None:
    """Restore a trainer from the latest checkpoint, full or sharded.

    Raises:
        ValueError: It is altered, or of another model, config or corpus.
    """
    steps, folder = newest_shards(out) or (0, None)
    if folder and steps == steps_saved(out):
        load_shards(folder, trainer)
    elif isinstance(trainer.strategy, FullyShardedDataParallel):
        load_full(out, trainer)
    else:
        load_checkpoint(out, trainer)


def save(
    out: Path,
    trainer: Trainer,
    tokenizers: Sequence[Tokenizer] = (),
    options: Metadata | None = None,
) -> None:
    """Write a checkpoint; all processes call it, and all wait for it.

    Arguments are those of save_checkpoint.

    Raises:
        OSError: It can't be written; an old one is left as it was.
    """
    done = len(trainer.losses)
    is_first = trainer.strategy.rank == 0
    is_sharded = isinstance(trainer.strategy, FullyShardedDataParallel)
    if is_sharded and 0 < done < trainer.config.max_steps:
        if not broadcast_bool(trainer, steps_saved(out) == done):
            save_shards(out, trainer)
    else:
        if is_sharded:
            save_full(out, trainer, tokenizers, options)
        elif is_first:
            save_checkpoint(out, trainer, tokenizers, options)
        if is_first:
            shutil.rmtree(_shards_folder(out), ignore_errors=True)
    broadcast_bool(trainer, True)  # waits until the first process has written


def broadcast_bool(trainer: Trainer, value: bool) -> bool:
    """Return the value of the first process."""
    is_first = trainer.strategy.rank == 0
    own = torch.tensor(float(value and is_first), device=trainer.device)
    return bool(trainer.strategy.reduce(own) > 0)


def exists_on_all_ranks(
    out: Path, strategy: ParallelStrategy, device: torch.device
) -> bool:
    """Whether a file is there; ValueError if only some processes see it."""
    n = int(strategy.reduce(torch.tensor(float(out.exists()), device=device)))
    if 0 < n < strategy.size:
        raise ValueError(
            f"{out}: only {n} of {strategy.size} processes see this file; "
            "wanted a folder that all can read"
        )
    return n > 0


def check_agreement(trainer: Trainer) -> None:
    """Raise ValueError unless all processes train the same on the same."""
    text = json.dumps(fingerprint(trainer))
    number = int(hashlib.sha256(text.encode()).hexdigest()[:8], 16)
    own = torch.tensor(number, device=trainer.device)
    if trainer.strategy.reduce(own) != own * trainer.strategy.size:
        raise ValueError(
            "corpus, config and model must be the same in all processes, "
            "got others elsewhere"
        )
