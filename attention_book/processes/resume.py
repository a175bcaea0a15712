# Made from docs/chapters/39-processes.md (f8325b8fe947). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
import hashlib
import json
from pathlib import Path

import torch

from attention_book.checkpoints.progress import fingerprint
from attention_book.corpus.tokenizers import Tokenizer
from attention_book.processes.shards import (
    load_shards,
    load_whole,
    newest_shards,
    save_shards,
    save_whole,
    steps_saved,
)
from attention_book.scale_out import FullyShardedDataParallel
from attention_book.training.loop import Trainer
from attention_book.training.parallel import ParallelStrategy


def resume(out: Path, trainer: Trainer) -> None:
    """Bring a trainer to the last checkpoint, whole or in parts."""
    steps, folder = newest_shards(out) or (0, None)
    if folder and steps == steps_saved(out):
        load_shards(folder, trainer)
    else:
        load_whole(out, trainer)


def keep(
    out: Path, trainer: Trainer, source: Tokenizer, target: Tokenizer
) -> None:
    """Write a checkpoint: in parts while it is under way, if so trained."""
    done = len(trainer.losses)
    strategy = trainer.strategy
    if not isinstance(strategy, FullyShardedDataParallel) or done in (
        0,
        trainer.config.max_steps,
    ):
        save_whole(out, trainer, source, target)
    elif not broadcast_bool(trainer, steps_saved(out) == done):
        save_shards(out, trainer)
    broadcast_bool(trainer, True)  # waits until the first process has written


def broadcast_bool(trainer: Trainer, so: bool) -> bool:
    """What the first process says."""
    device = trainer.device
    first = trainer.strategy.rank == 0
    said = torch.tensor(float(so and first), device=device)
    return bool(trainer.strategy.reduce(said) > 0)


def exists_on_all_ranks(
    out: Path, strategy: ParallelStrategy, device: torch.device
) -> bool:
    """Whether a file is there; ValueError if only some processes see it."""
    n = int(strategy.reduce(torch.tensor(float(out.exists()), device=device)))
    if 0 < n < strategy.size:
        raise ValueError(
            f"{out}: only {n} of {strategy.size} processes see this file; wanted "
            "a folder that all can read"
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
