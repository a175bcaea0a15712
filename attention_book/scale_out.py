# Made from docs/chapters/23-scale-out.md (8107bf5afa2f). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
import hashlib
import json
import os
import shutil
import signal
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import torch
import torch.distributed as dist
from safetensors import SafetensorError, safe_open
from torch import Tensor, nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.rendezvous import rendezvous
from torch.nn.parallel import DistributedDataParallel

from attention_book.corpus import Tokens
from attention_book.gpu import CARRIERS, own_device
from attention_book.training import (
    ALONE,
    Batches,
    Example,
    Learner,
    Recipe,
    Team,
    Tensors,
    Trainer,
    check_origin,
    load_checkpoint,
    origin,
    progress_of,
    read_tensors,
    save_model,
    set_progress,
    write_tensors,
)


@torch.no_grad()
def unseen_loss(trainer: Trainer, examples: Sequence[Example]) -> float:
    """Mean loss of a word, without smoothing and dropout, of the whole team.

    All processes take equally many turns, because to compute a layer may need
    them all; those that have no batch left learn nothing from theirs.
    """
    team, device = trainer.team, trainer.device
    batches = Batches(examples, trainer.recipe, device)
    n, was_training = len(batches.order), trainer.model.training
    turns = -(-n // team.size) * team.size
    total = torch.zeros(2, dtype=torch.float64)
    trainer.learner.eval()
    for i in range(team.rank, turns, team.size):
        batch = batches[i % n]
        words = int((batch.target_lengths - 1).sum()) if i < n else 0
        loss = trainer.learner(batch, 0.0).item()
        total += torch.tensor([loss * words, words], dtype=torch.float64)
    trainer.learner.train(was_training)
    loss, words = team.sum(total.to(device)).tolist()
    return float(loss / words)


class DataParallel(Team):
    """Each process has the whole model; their gradients are averaged.

    Source: Li et al. (2020), §3.2.
    """

    def __init__(self) -> None:
        self.rank, self.size = dist.get_rank(), dist.get_world_size()

    def check(self, recipe: Recipe) -> None:
        """Raise ValueError if the work can not be shared evenly."""
        if recipe.accumulate % self.size:
            raise ValueError(
                "accumulate must be a multiple of the number of processes, "
                f"{self.size}, got {recipe.accumulate}"
            )

    def wrap(self, learner: Learner) -> nn.Module:
        """Average the gradients while the backward pass is under way."""
        return DistributedDataParallel(learner, gradient_as_bucket_view=True)

    def share(
        self, learner: nn.Module, last: bool
    ) -> AbstractContextManager[None]:
        """Within it, gradients are shared in the last backward pass only."""
        if last or not isinstance(learner, DistributedDataParallel):
            return nullcontext()
        silence: AbstractContextManager[None] = learner.no_sync()
        return silence

    def sum(self, number: Tensor) -> Tensor:
        """Add up a number of each process."""
        total = number.clone()
        dist.all_reduce(total)
        return total


class Sharded(DataParallel):
    """Each process keeps a part of every parameter, gradient and average.

    Args:
        device: What the processes compute on: cpu or cuda.

    Source: Rajbhandari et al. (2020), §5.3; Zhao et al. (2023), §3.
    """

    def __init__(self, device: str) -> None:
        super().__init__()
        self.mesh = init_device_mesh(device, (self.size,))

    def wrap(self, learner: Learner) -> nn.Module:
        """Cut up each layer, and then, as one more layer, what is left."""
        from torch.distributed.fsdp import fully_shard  # takes a second

        model: Any = learner.model
        layers = (*model.encoder.layers, *model.decoder.layers)
        for part in (*layers, learner):
            fully_shard(part, mesh=self.mesh, reshard_after_forward=True)
        return learner

    @contextmanager
    def share(self, learner: Any, last: bool) -> Iterator[None]:
        """Within it, gradients are shared in the last backward pass only."""
        learner.set_requires_gradient_sync(last)
        learner.set_is_last_backward(last)
        yield

    def whole(self, number: Tensor) -> Tensor:
        """Put together a number whose parts lie with the processes."""
        from torch.distributed.tensor import DTensor

        return number.full_tensor() if isinstance(number, DTensor) else number


SEAT = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE")


MEETING = ("MASTER_ADDR", "MASTER_PORT")  # where the processes meet


class Seat(NamedTuple):
    """Which of how many processes this is: of all, and of its machine's."""

    rank: int
    size: int
    local_rank: int
    local_size: int


def find_seat(environment: Mapping[str, str]) -> Seat | None:
    """Read what torchrun told this process; None if it told nothing.

    Raises:
        ValueError: Something is missing, or makes no sense.
    """
    if not any(environment.get(name) for name in SEAT):
        return None
    for name in (*SEAT, *MEETING):
        if not environment.get(name):
            raise ValueError(
                f"{name}: wanted what torchrun sets, together with "
                f"{', '.join(n for n in (*SEAT, *MEETING) if n != name)}, "
                "got nothing"
            )
    for name in SEAT:
        if not environment[name].isdecimal():
            got = environment[name]
            raise ValueError(f"{name} must be a whole number, got {got!r}")
    seat = Seat(*(int(environment[name]) for name in SEAT))
    numbers = dict(zip(SEAT, seat, strict=True))
    for name, most in (SEAT[:2], SEAT[2:]):
        if numbers[name] >= numbers[most]:
            raise ValueError(
                f"{name} must be less than {most}, {numbers[most]}, "
                f"got {numbers[name]}"
            )
    return seat


PATIENCE = timedelta(minutes=10)  # then a process counts as lost


def start(device: torch.device, seat: Seat, store: Any, sharded: bool) -> Team:
    """Connect the processes."""
    number = device.index  # of the GPU
    if number is not None:
        torch.accelerator.set_device_index(number)
    dist.init_process_group(
        CARRIERS[device.type],
        store=store,
        rank=seat.rank,
        world_size=seat.size,
        timeout=PATIENCE,
        device_id=None if number is None else device,
    )
    return Sharded(device.type) if sharded else DataParallel()


class Voice:
    """Lets one process of many say what all have to say.

    Args:
        store: What all processes write to and read from.
        say: Is called with the text.
    """

    def __init__(self, store: Any, say: Callable[[str], object]) -> None:
        self.store, self.say, self.lock = store, say, threading.Lock()

    def first(self, key: str) -> bool:
        """Whether no process has asked this before."""
        try:
            return bool(self.store.add(key, 1) == 1)
        except RuntimeError:  # nobody is left to ask
            return True

    def complain(self, text: str) -> None:
        """Say what is wrong, unless another process has said just this."""
        with self.lock:
            new = self.first(f"said {text}")
            self.first("ended")
            if new:
                self.say(text)

    def mourn(self, text: str) -> None:
        """Say that all is over, unless a process has said why."""
        with self.lock:
            if self.first("ended"):
                self.say(text)


@contextmanager
def listening(end: Callable[[], None]) -> Iterator[None]:
    """Within it, the signal to stop is heard even while waiting for others.

    Python looks at signals between two of its own steps, and a process that
    waits for another takes none: so a thread of its own does the listening.
    """
    hear, tell = os.pipe()
    os.set_blocking(tell, False)
    old = signal.signal(signal.SIGTERM, lambda *_: None)
    old_tell = signal.set_wakeup_fd(tell)

    def listen() -> None:
        while heard := os.read(hear, 1):
            if heard[0] == signal.SIGTERM:
                end()
                os._exit(128 + signal.SIGTERM)
        os.close(hear)

    threading.Thread(target=listen, daemon=True).start()
    try:
        yield
    finally:
        signal.set_wakeup_fd(old_tell)
        signal.signal(signal.SIGTERM, old)
        os.close(tell)  # and the thread ends


EXPECTED = (ArithmeticError, ImportError, OSError, ValueError)


def is_loss(error: BaseException) -> bool:
    """Whether this is how the end of another process is felt."""
    return isinstance(error, dist.DistError) or "/gloo/" in str(error)


def mourn(voice: Voice, out: Path) -> None:
    """Say, if nobody has, that the run is over and how to go on."""
    voice.mourn(
        f"{out}: another process of this run ended, or all were told to; "
        f"the same command goes on from step {steps_saved(out)}"
    )


@contextmanager
def joined(
    out: Path,
    device: str = "auto",
    *,
    sharded: bool = False,
    say: Callable[[str], object],
) -> Iterator[tuple[Team, str]]:
    """Join the processes that torchrun has started; give team and device.

    Started otherwise, the process is alone. An error ends the process, having
    been said once: by itself, or by another that came upon the same.

    Args:
        out: Where checkpoints are.
        device: auto, cpu or cuda.
        sharded: Whether each process keeps only a part of the model.
        say: What to say an error with.
    """
    seat = find_seat(os.environ)
    if seat is None:
        if sharded:
            raise ValueError("sharded: wanted torchrun, got one process")
        yield ALONE, device
        return
    store, *_ = next(rendezvous("env://", timeout=PATIENCE))
    voice = Voice(store, say)
    with listening(partial(mourn, voice, out)):
        try:
            own = own_device(device, seat.local_rank, seat.local_size)
            yield start(own, seat, store, sharded), str(own)
        except EXPECTED as error:
            voice.complain(str(error))
            raise SystemExit(1) from None
        except KeyboardInterrupt:
            voice.first("ended")
            raise
        except RuntimeError as error:
            if not is_loss(error):
                raise
            mourn(voice, out)
            raise SystemExit(1) from None
    dist.destroy_process_group()


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
    beside, first = folder.with_suffix(".part"), trainer.team.rank == 0
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
        digests = digests_of(beside, trainer.team)
        if first:
            notes = origin(trainer) | {"digests": json.dumps(digests)}
            write_tensors(beside / NOTES, progress_of(trainer), notes)
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


def digests_of(folder: Path, team: Team) -> dict[str, str]:
    """Return a digest of each file; the processes share the work."""
    own = sorted(folder.iterdir())[team.rank :: team.size]
    found: list[dict[str, str]] = [{}] * team.size
    dist.all_gather_object(found, {p.name: digest_of(p) for p in own})
    return {name: d for digests in found for name, d in digests.items()}


def cause_of(error: Any, folder: Path) -> BaseException:
    """What went wrong in one of the processes."""
    causes: list[BaseException] = [e for e, _ in error.failures.values()]
    cause = min(causes, key=is_loss)
    if isinstance(cause, OSError):
        return OSError(f"{folder}: could not be written: {cause}")
    return cause


def load_shards(folder: Path, trainer: Trainer) -> None:
    """Bring a trainer, in however many processes, to where parts were kept.

    Raises:
        ValueError: They are altered, or of another model, recipe or corpus.
    """
    from torch.distributed.checkpoint.hf_storage import (
        HuggingFaceStorageReader,
    )
    from torch.distributed.checkpoint.state_dict_loader import load

    team = trainer.team
    found, notes = read_tensors(folder / NOTES)
    check_origin(folder, trainer, notes)
    digests = sorted(json.loads(notes["digests"]).items())
    for name, digest in digests[team.rank :: team.size]:
        if digest_of(folder / name) != digest:
            raise ValueError(f"{folder / name}: altered")
    reader, alone = HuggingFaceStorageReader(str(folder)), team is ALONE
    with warnings.catch_warnings(action="ignore"):  # that it is alone
        load(tensors_of(trainer), storage_reader=reader, no_dist=alone)
    set_progress(trainer, found)


def save_whole(
    out: Path, trainer: Trainer, source: Tokens, target: Tokens
) -> None:
    """Write the file that one process would have written."""
    whole, first = trainer.team.whole, trainer.team.rank == 0
    found = progress_of(trainer)
    for name, tensor in tensors_of(trainer).items():
        tensor = whole(tensor)
        if first:
            found[name] = tensor.cpu()
    if first:
        more = found, origin(trainer)
        save_model(out, trainer.model, source, target, more=more)
        shutil.rmtree(shards_of(out), ignore_errors=True)


def own_part(whole: Tensor, like: Tensor) -> Tensor:
    """Cut out of a whole tensor what this process keeps of it."""
    from torch.distributed.tensor import DTensor, distribute_tensor

    if not isinstance(like, DTensor):
        return whole
    mesh, placements = like.device_mesh, like.placements
    here = whole.to(like.device)  # all have the whole: nothing is sent
    return distribute_tensor(here, mesh, placements, src_data_rank=None)


@torch.no_grad()
def load_whole(out: Path, trainer: Trainer) -> None:
    """Go on, with a part of each tensor, from what save_whole wrote."""
    if not isinstance(trainer.team, Sharded):
        return load_checkpoint(out, trainer)
    found, notes = read_tensors(out)
    check_origin(out, trainer, notes)
    if "losses" not in found:
        raise ValueError(f"{out}: has no losses, so is no checkpoint")
    for name, own in tensors_of(trainer).items():
        if name in found:
            own.copy_(own_part(found[name], own))
    set_progress(trainer, found)
    return None


def go_on(out: Path, trainer: Trainer) -> None:
    """Bring a trainer to the last checkpoint, whole or in parts."""
    steps, folder = newest_shards(out) or (0, None)
    if folder and steps == steps_saved(out):
        load_shards(folder, trainer)
    else:
        load_whole(out, trainer)


def keep(out: Path, trainer: Trainer, source: Tokens, target: Tokens) -> None:
    """Write a checkpoint: in parts while it is under way, if so trained."""
    done, team = len(trainer.losses), trainer.team
    if not isinstance(team, Sharded) or done in (0, trainer.recipe.n_steps):
        save_whole(out, trainer, source, target)
    elif not agreed(trainer, steps_saved(out) == done):
        save_shards(out, trainer)
    agreed(trainer, True)  # waits until the first process has written


def agreed(trainer: Trainer, so: bool) -> bool:
    """What the first process says."""
    device, first = trainer.device, trainer.team.rank == 0
    said = torch.tensor(float(so and first), device=device)
    return bool(trainer.team.sum(said) > 0)


def seen_by_all(out: Path, team: Team, device: torch.device) -> bool:
    """Whether a file is there; ValueError if only some processes see it."""
    n = int(team.sum(torch.tensor(float(out.exists()), device=device)))
    if 0 < n < team.size:
        raise ValueError(
            f"{out}: only {n} of {team.size} processes see this file; wanted "
            "a folder that all can read"
        )
    return n > 0


def check_agreement(trainer: Trainer) -> None:
    """Raise ValueError unless all processes train the same on the same."""
    text = json.dumps(origin(trainer))
    number = int(hashlib.sha256(text.encode()).hexdigest()[:8], 16)
    own = torch.tensor(number, device=trainer.device)
    if trainer.team.sum(own) != own * trainer.team.size:
        raise ValueError(
            "corpus, recipe and model must be the same in all processes, "
            "got others elsewhere"
        )
