# Made from docs/chapters/39-processes.md (757c26ee5edc). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
import hashlib
import json
import shutil
import warnings
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from safetensors import SafetensorError, safe_open
from torch import Tensor

from attention_book.checkpoints.files import (
    Tensors,
    read_tensors,
    write_tensors,
)
from attention_book.checkpoints.models import save_model
from attention_book.checkpoints.progress import (
    check_fingerprint,
    fingerprint,
    load_checkpoint,
)
from attention_book.corpus.tokenizers import Tokenizer
from attention_book.processes.errors import is_peer_failure
from attention_book.scale_out import FullyShardedDataParallel
from attention_book.training.loop import Trainer
from attention_book.training.parallel import SINGLE_PROCESS, ParallelStrategy


def tensors_of(trainer: Trainer) -> Tensors:
    """All that moves in training, by name; to fill these fills the trainer."""
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


def shards_of(out: Path) -> Path:
    """Return the folder beside OUT where the parts are kept."""
    return Path(f"{out}.shards")


def newest_shards(out: Path) -> tuple[int, Path] | None:
    """Return the last step whose parts are complete, and their folder."""
    found = [
        (int(folder.name.removeprefix("step-")), folder)
        for folder in shards_of(out).glob("step-*")
        if folder.name.removeprefix("step-").isdecimal()
    ]
    return max(found, default=None)


def steps_saved(out: Path) -> int:
    """Return from which step the same command would go on."""
    steps, _ = newest_shards(out) or (0, None)
    try:
        with safe_open(out, "pt") as file:
            (whole,) = file.get_slice("losses").get_shape()
    except (OSError, SafetensorError):
        return steps
    return max(steps, int(whole))


NOTES = "progress"  # a safetensors file as well


def save_shards(out: Path, trainer: Trainer) -> None:
    """Have each process write what it keeps; the folder appears when whole.

    Raises:
        OSError: It can not be written.
    """
    from torch.distributed.checkpoint.api import CheckpointException
    from torch.distributed.checkpoint.hf_storage import (
        HuggingFaceStorageWriter,
    )
    from torch.distributed.checkpoint.state_dict_saver import save

    folder = shards_of(out) / f"step-{len(trainer.losses):06}"
    beside = folder.with_suffix(".part")
    first = trainer.strategy.rank == 0
    try:
        if first:
            shutil.rmtree(beside, ignore_errors=True)
            beside.mkdir(parents=True)
        dist.barrier()
        save(
            tensors_of(trainer),
            storage_writer=HuggingFaceStorageWriter(
                str(beside), save_distributed=True
            ),
        )
        digests = digests_of(beside, trainer.strategy)
        if first:
            notes = fingerprint(trainer) | {"digests": json.dumps(digests)}
            write_tensors(beside / NOTES, trainer.state_dict(), notes)
            beside.replace(folder)
            for old in shards_of(out).iterdir():
                if old != folder:
                    shutil.rmtree(old)
    except CheckpointException as error:
        raise cause_of(error, folder) from None
    except OSError as error:
        raise OSError(f"{folder}: could not be written: {error}") from None


def digest_of(path: Path) -> str:
    """Return a digest of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def digests_of(folder: Path, strategy: ParallelStrategy) -> dict[str, str]:
    """Return a digest of each file; the processes share the work."""
    own = sorted(folder.iterdir())[strategy.rank :: strategy.size]
    found: list[dict[str, str]] = [{}] * strategy.size
    dist.all_gather_object(found, {p.name: digest_of(p) for p in own})
    return {name: d for digests in found for name, d in digests.items()}


def cause_of(error: Any, folder: Path) -> BaseException:
    """What went wrong in one of the processes."""
    causes: list[BaseException] = [e for e, _ in error.failures.values()]
    cause = min(causes, key=is_peer_failure)
    if isinstance(cause, OSError):
        return OSError(f"{folder}: could not be written: {cause}")
    return cause


def load_shards(folder: Path, trainer: Trainer) -> None:
    """Bring a trainer, in however many processes, to where parts were kept.

    Raises:
        ValueError: They are altered, or of another model, config or corpus.
    """
    from torch.distributed.checkpoint.hf_storage import (
        HuggingFaceStorageReader,
    )
    from torch.distributed.checkpoint.state_dict_loader import load

    strategy = trainer.strategy
    found, notes = read_tensors(folder / NOTES)
    check_fingerprint(folder, trainer, notes)
    digests = sorted(json.loads(notes["digests"]).items())
    for name, digest in digests[strategy.rank :: strategy.size]:
        if digest_of(folder / name) != digest:
            raise ValueError(f"{folder / name}: altered")
    reader = HuggingFaceStorageReader(str(folder))
    alone = strategy is SINGLE_PROCESS
    with warnings.catch_warnings(action="ignore"):  # that it is alone
        load(tensors_of(trainer), storage_reader=reader, no_dist=alone)
    trainer.load_state_dict(found)


def save_whole(
    out: Path, trainer: Trainer, source: Tokenizer, target: Tokenizer
) -> None:
    """Write the file that one process would have written."""
    whole = trainer.strategy.gather
    first = trainer.strategy.rank == 0
    found = trainer.state_dict()
    for name, tensor in tensors_of(trainer).items():
        tensor = whole(tensor)
        if first:
            found[name] = tensor.cpu()
    if first:
        more = found, fingerprint(trainer)
        save_model(out, trainer.model, source, target, more=more)
        shutil.rmtree(shards_of(out), ignore_errors=True)


def local_shard(whole: Tensor, like: Tensor) -> Tensor:
    """Cut out of a whole tensor what this process keeps of it."""
    from torch.distributed.tensor import DTensor, distribute_tensor

    if not isinstance(like, DTensor):
        return whole
    mesh = like.device_mesh
    placements = like.placements
    here = whole.to(like.device)  # all have the whole: nothing is sent
    return distribute_tensor(here, mesh, placements, src_data_rank=None)


@torch.no_grad()
def load_whole(out: Path, trainer: Trainer) -> None:
    """Go on, with a part of each tensor, from what save_whole wrote."""
    if not isinstance(trainer.strategy, FullyShardedDataParallel):
        return load_checkpoint(out, trainer)
    found, notes = read_tensors(out)
    check_fingerprint(out, trainer, notes)
    if "losses" not in found:
        raise ValueError(f"{out}: has no losses, so is no checkpoint")
    for name, own in tensors_of(trainer).items():
        if name in found:
            own.copy_(local_shard(found[name], own))
    trainer.load_state_dict(found)
    return None
