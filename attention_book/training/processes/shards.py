# Made from docs/source/processes.md (d50b6080e731). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
import copy
import hashlib
import json
import shutil
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor

from attention_book.io.files import (
    LOAD_ERRORS,
    check_regular,
    parse_json,
    printable,
    target_of,
)
from attention_book.io.progress import (
    check_fingerprint,
    expected_progress,
    fingerprint,
    load_checkpoint,
    save_checkpoint,
)
from attention_book.io.tensors import (
    Metadata,
    Tensors,
    check_tensors,
    open_tensors,
    write_tensors,
)
from attention_book.tokenizers.words import Tokenizer
from attention_book.training.loop import Trainer
from attention_book.training.parallel import SINGLE_PROCESS, ParallelStrategy
from attention_book.training.processes.errors import is_peer_failure


__all__ = [
    "load_full",
    "load_shards",
    "local_shard",
    "named_tensors",
    "newest_shards",
    "save_full",
    "save_shards",
    "steps_saved",
]


def named_tensors(trainer: Trainer) -> Tensors:
    """Parameters and optimizer state by name; to fill these is to restore."""
    found = {}
    for name, parameter in trainer.model.named_parameters():
        found[f"model.{name}"] = parameter.detach()
        state = trainer.optimizer.state[parameter]
        if not state:
            state["step"] = torch.zeros((), device=parameter.device)
            for kind in ("exp_avg", "exp_avg_sq"):
                state[kind] = torch.zeros_like(parameter.detach())
        for kind, value in state.items():
            found[f"optimizer.{name}.{kind}"] = value
    return found


def _shards_folder(out: Path) -> Path:
    """Return the folder beside OUT where the shards are kept."""
    return Path(f"{target_of(out)}.shards")


def newest_shards(out: Path) -> tuple[int, Path] | None:
    """Return the last step whose shards are complete, and their folder."""
    found = [
        (int(folder.name.removeprefix("step-")), folder)
        for folder in _shards_folder(out).glob("step-*")
        if folder.name.removeprefix("step-").isdecimal()
    ]
    return max(found, default=None)


def steps_saved(out: Path) -> int:
    """Return from which step the same command would resume."""
    steps, _ = newest_shards(out) or (0, None)
    try:
        with open_tensors(out) as file:
            return max(steps, file.tensors["losses"].numel())
    except (OSError, ValueError):
        return steps


_PROGRESS = "progress"  # a safetensors file as well


def save_shards(out: Path, trainer: Trainer) -> None:
    """Have each process write its shards; the folder appears when complete.

    Raises:
        OSError: It can't be written.
    """
    from torch.distributed.checkpoint.api import CheckpointException
    from torch.distributed.checkpoint.hf_storage import (
        HuggingFaceStorageWriter,
    )
    from torch.distributed.checkpoint.state_dict_saver import save

    folder = _shards_folder(out) / f"step-{len(trainer.losses):06}"
    beside = folder.with_suffix(".part")
    is_first = trainer.strategy.rank == 0
    try:
        if is_first:
            shutil.rmtree(beside, ignore_errors=True)
            beside.mkdir(parents=True)
        dist.barrier()
        save(
            named_tensors(trainer),
            storage_writer=HuggingFaceStorageWriter(
                str(beside), save_distributed=True
            ),
        )
        digests = _file_digests(beside, trainer.strategy)
        if is_first:
            metadata = fingerprint(trainer) | {"digests": json.dumps(digests)}
            write_tensors(beside / _PROGRESS, trainer.state_dict(), metadata)
            beside.replace(folder)
            for old in _shards_folder(out).iterdir():
                if old != folder:
                    shutil.rmtree(old)
    except CheckpointException as error:
        raise _cause(error, f"{folder}: could not be written") from None
    except OSError as error:
        raise OSError(f"{folder}: could not be written: {error}") from None


def _file_digest(path: Path) -> str:
    """Return the SHA-256 of a file."""
    check_regular(path)
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _file_digests(folder: Path, strategy: ParallelStrategy) -> dict[str, str]:
    """Return the digest of each file; the processes share the work."""
    own = sorted(folder.iterdir())[strategy.rank :: strategy.size]
    found: list[dict[str, str]] = [{}] * strategy.size
    dist.all_gather_object(found, {p.name: _file_digest(p) for p in own})
    return {name: d for digests in found for name, d in digests.items()}


def _cause(error: Any, what: str) -> BaseException:
    """Return what went wrong in one of the processes."""
    causes: list[BaseException] = [e for e, _ in error.failures.values()]
    cause = min(causes, key=is_peer_failure)
    if isinstance(cause, OSError):
        return OSError(f"{what}: {cause}")
    if isinstance(cause, LOAD_ERRORS) and not is_peer_failure(cause):
        return ValueError(f"{what}: {printable(cause)}")
    return cause


def _read_progress(
    folder: Path, trainer: Trainer
) -> tuple[Tensors, dict[str, str]]:
    """Return losses and scale, and the digests of the shards.

    Raises:
        ValueError: They are not of this trainer's run.
    """
    with open_tensors(folder / _PROGRESS) as file:
        check_fingerprint(trainer, file.metadata)
        wanted = expected_progress(trainer, file.tensors)
        check_tensors(file.tensors, wanted)
        digests = parse_json(file.metadata["digests"])
        found = {p.name for p in folder.iterdir()} - {_PROGRESS}
        for name in sorted(found ^ set(digests)):
            got = "another" if name in found else "none"
            raise ValueError(
                f"wanted shard {printable(name, 100)!r}, got {got}"
            )
        tensors = file.read()
    return tensors, digests


def _check_shard(path: Path, digest: str, known: Tensors) -> None:
    """Raise ValueError if a shard is altered, or no shard of known tensors."""
    if _file_digest(path) != digest:
        raise ValueError(f"{path}: altered")
    with open_tensors(path) as file:
        for name, like in file.tensors.items():
            if name not in known:
                raise ValueError(f"wanted no tensor {printable(name, 100)!r}")
            for _ in file.slices(name) if like.ndim else ():
                pass  # all numbers are finite


def load_shards(folder: Path, trainer: Trainer) -> None:
    """Restore a trainer, in however many processes, from saved shards.

    Raises:
        OSError: One of them is not there, or can't be read.
        ValueError: They are altered, or of another model, config or corpus;
            the trainer is then as it was.
    """
    from torch.distributed.checkpoint.api import CheckpointException
    from torch.distributed.checkpoint.hf_storage import (
        HuggingFaceStorageReader,
    )
    from torch.distributed.checkpoint.state_dict_loader import load

    strategy = trainer.strategy
    progress, digests = _read_progress(folder, trainer)
    tensors = named_tensors(trainer)
    for name in sorted(digests)[strategy.rank :: strategy.size]:
        _check_shard(folder / name, digests[name], tensors)
    reader = HuggingFaceStorageReader(str(folder))
    is_alone = strategy is SINGLE_PROCESS
    try:
        with warnings.catch_warnings(action="ignore"):  # that it is alone
            load(tensors, storage_reader=reader, no_dist=is_alone)
    except CheckpointException as error:
        raise _cause(error, f"{folder}: could not be read") from None
    trainer.load_state_dict(progress)


def _full_copy(trainer: Trainer) -> Trainer:
    """Return the trainer with a whole model of its own, on the CPU."""
    full = copy.copy(trainer)
    with torch.random.fork_rng(devices=[]):  # the weights will be replaced
        full.model = type(trainer.model)(trainer.model.config)
    full.optimizer = torch.optim.AdamW(full.model.parameters())
    return full


def save_full(
    out: Path,
    trainer: Trainer,
    tokenizers: Sequence[Tokenizer] = (),
    options: Metadata | None = None,
) -> None:
    """Gather all shards; the first process writes them as one checkpoint."""
    strategy = trainer.strategy
    full = _full_copy(trainer) if strategy.rank == 0 else None
    targets = named_tensors(full) if full else {}
    for name, shard in named_tensors(trainer).items():
        tensor = strategy.gather(shard)  # in which all take part
        if full:
            targets[name].copy_(tensor)
    if full:
        save_checkpoint(out, full, tokenizers, options)


def local_shard(tensor: Tensor, like: Tensor) -> Tensor:
    """Return what this process keeps of a tensor: a shard, if like is."""
    from torch.distributed.tensor import DTensor, distribute_tensor

    if not isinstance(like, DTensor):
        return tensor
    return distribute_tensor(
        tensor.to(like.device),
        like.device_mesh,
        like.placements,
        src_data_rank=None,  # all have the whole: nothing is sent
    )


def load_full(out: Path, trainer: Trainer) -> None:
    """Restore the shards of a trainer from a checkpoint of one process.

    Raises:
        ValueError: As load_checkpoint does.
    """
    full = _full_copy(trainer)
    load_checkpoint(out, full)
    tensors = named_tensors(full)
    for name, shard in named_tensors(trainer).items():
        shard.copy_(local_shard(tensors[name], shard))
    trainer.load_state_dict(full.state_dict())
