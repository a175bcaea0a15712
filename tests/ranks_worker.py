"""Runs of several processes; tests/ranks.py starts it and reads the results.

python tests/ranks_worker.py FOLDER does what FOLDER/plan.json lists, run by
run, and prints a line of JSON for each: what each process exited with, found,
and wrote on stderr. torch is imported once and then forked, so that a process
costs nothing but its work; what torchrun would set is set here.

python tests/ranks_worker.py train KILLED STEP OPTIONS… is the command's own
train under torchrun, but the process of this rank kills itself at the step.
"""

import json
import os
import signal
import sys
import threading
import time
import traceback
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
import torch._dynamo  # which the first step would import, each time
import torch.distributed as dist
from torch.distributed.checkpoint import hf_storage
from torch.distributed.tensor import DTensor

from attention_book.models.transformer import Transformer
from attention_book.tokenizers.special_tokens import SPECIAL_TOKENS
from attention_book.tokenizers.words import WordTokenizer
from attention_book.training import (
    SINGLE_PROCESS,
    Batch,
    BatchLoader,
    ParallelStrategy,
    Trainer,
    TrainingConfig,
    translation_loss,
    validation_loss,
)
from attention_book.training.processes import (
    check_agreement,
    named_tensors,
    process_group,
    resume,
    save,
    save_full,
    save_shards,
)
from attention_book.training.scale_out import FullyShardedDataParallel
from tests.factories import make_config, make_examples


TOKENIZERS = (
    WordTokenizer([*SPECIAL_TOKENS, *"abcdefghij"]),
    WordTokenizer([*SPECIAL_TOKENS, *"abcdefgh"]),
)
SIZES: dict[str, Any] = {
    "d_model": 12,
    "n_heads": 2,
    "d_ff": 20,
    "dropout": 0.3,
}
KINDS: dict[str, dict[str, Any]] = {
    "plain": {},
    "tied": {
        "share_embeddings": True,
        "target_vocab_size": 13,
        "positions": "learned",
        "norm": "pre",
    },
    "rotary": {"positions": "rotary", "feed_forward": "swiglu"},
}
CONFIG = TrainingConfig(
    max_steps=12,
    batch_tokens=21,
    accumulation_steps=6,
    warmup_steps=3,
    learning_rate=1e-2,
)


def make_trainer(
    strategy: ParallelStrategy = SINGLE_PROCESS,
    config: TrainingConfig = CONFIG,
    **changes: Any,
) -> Trainer:
    """Return the trainer that all processes, and the tests, make alike."""
    torch.manual_seed(1)
    model = Transformer(make_config(**SIZES | changes))
    batches = BatchLoader(make_examples(17, seed=2), config)
    return Trainer(model, batches, config, strategy=strategy)


def numbers_of(trainer: Trainer) -> dict[str, list[float]]:
    """Return parameters and optimizer state, gathered."""
    return {
        name: trainer.strategy.gather(tensor).flatten().tolist()
        for name, tensor in named_tensors(trainer).items()
    }


def gradients_of(trainer: Trainer) -> dict[str, list[float]]:
    """Return the clipped gradients of the last step, gathered."""
    found = {}
    for name, parameter in trainer.model.named_parameters():
        assert parameter.grad is not None
        grad = trainer.strategy.gather(parameter.grad)
        found[name] = grad.flatten().tolist()
    return found


def count_local(trainer: Trainer) -> int:
    """Return how many numbers this process holds."""
    return sum(
        tensor.to_local().numel()
        if isinstance(tensor, DTensor)
        else tensor.numel()
        for tensor in named_tensors(trainer).values()
    )


def compare(
    strategy: ParallelStrategy, folder: Path, *kinds: str
) -> dict[str, Any]:
    """Train some kinds of models."""
    found: dict[str, Any] = {}
    for name in kinds:
        trainer = make_trainer(strategy, **KINDS[name])
        first_loss = trainer.step()
        gradients = gradients_of(trainer)
        losses = [first_loss, trainer.step(), trainer.step()]
        held_out = BatchLoader(make_examples(5), CONFIG)
        found[name] = {
            "gradients": gradients,
            "losses": losses,
            "validation": validation_loss(trainer, held_out),
            "numbers": numbers_of(trainer),
            "n_local": count_local(trainer),
            "after": trainer.step(),
        }
    return found


def half(strategy: ParallelStrategy, folder: Path) -> dict[str, Any]:
    """Train in fp16, whose losses are scaled, and save the scale."""
    config = replace(CONFIG, precision="fp16")
    trainer = make_trainer(strategy, config)
    trainer.scaler.load_state_dict(
        trainer.scaler.state_dict() | {"scale": 512.0}
    )
    losses = [trainer.step() for _ in range(3)]
    out = folder / f"half-{type(strategy).__name__}"
    save(out, trainer, TOKENIZERS)
    resumed = make_trainer(strategy, config)
    resume(out, resumed)
    found = {"losses": losses, "scale": resumed.scaler.get_scale()}
    return found | {"next": [trainer.step(), resumed.step()]}


def checkpoint(
    strategy: ParallelStrategy, folder: Path, *ways: str
) -> dict[str, Any]:
    """Take five steps; save in full, in shards, or as train does."""
    trainer = make_trainer(strategy)
    losses = [trainer.step() for _ in range(5)]
    for way in ways:
        if way == "shards":
            save_shards(folder / way, trainer)
        else:
            write = {"full": save_full, "saved": save}[way]
            write(folder / way, trainer, TOKENIZERS)
    return {"losses": losses}


def continued(
    strategy: ParallelStrategy, folder: Path, *ways: str
) -> dict[str, Any]:
    """Resume from each checkpoint and take three steps more."""
    found: dict[str, Any] = {}
    for way in ways:
        trainer = make_trainer(strategy)
        resume(folder / way, trainer)
        first = len(trainer.losses)
        numbers = numbers_of(trainer)
        losses = [trainer.step() for _ in range(3)]
        found[way] = {"first": first, "losses": losses, "numbers": numbers}
    return found


def files_by_step(strategy: ParallelStrategy, folder: Path) -> dict[str, Any]:
    """List the files after each step, as train saves."""
    trainer = make_trainer(strategy, replace(CONFIG, max_steps=3))
    found = []
    out = folder / "step-by-step/m"
    out.parent.mkdir(exist_ok=True)
    for _ in range(4):
        save(out, trainer, TOKENIZERS)
        save(out, trainer, TOKENIZERS)  # twice does no harm
        found.append(
            [str(p.relative_to(out.parent)) for p in leaves(out.parent)]
        )
        strategy.reduce(torch.zeros(1))
        if len(trainer.losses) < 3:
            trainer.step()
    return {"found": found}


def leaves(folder: Path) -> list[Path]:
    """All files but those of this script."""
    found = [p for p in folder.rglob("*") if p.is_file()]
    return sorted(p for p in found if p.suffix not in (".json", ".err"))


def distribute(
    strategy: ParallelStrategy, folder: Path, epochs: str
) -> dict[str, Any]:
    """Train with a loss that notes which batches come to this process."""
    seen: list[list[int]] = []

    def loss_fn(
        model: Transformer, batch: Batch, _: float = 0.0
    ) -> torch.Tensor:
        seen.append(batch.source[:, 0].tolist())
        return translation_loss(model, batch)

    examples = [([i + 3] * (i % 4 + 1), [1, 3, 2]) for i in range(31)]
    model = Transformer(make_config(**SIZES | {"source_vocab_size": 34}))
    config = replace(CONFIG, batch_tokens=12)
    batches = BatchLoader(examples, config)
    trainer = Trainer(model, batches, config, loss_fn, strategy)
    n = len(batches)
    for _ in range(int(epochs) * n // config.accumulation_steps):
        trainer.step()
    return {"n": n, "seen": seen}


def end_self(how: str) -> None:
    """Come to an end in some way."""
    if how == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    if how == "bug":
        raise TypeError("a bug")
    if how == "hang":
        time.sleep(60)
    raise ValueError(f"wrong in {how}")


def fail(
    strategy: ParallelStrategy, folder: Path, how: str, ranks: str
) -> dict[str, Any]:
    """Some processes come upon something after two steps."""
    trainer = make_trainer(strategy)
    for number in range(4):
        trainer.step()
        save(folder / "model", trainer, TOKENIZERS)
        if number == 1 and str(strategy.rank) in ranks:
            end_self(how)
    return {}


def stop(strategy: ParallelStrategy, folder: Path) -> dict[str, Any]:
    """Be told to stop while waiting for the other."""
    if strategy.rank == 0:
        me = os.getpid(), signal.SIGTERM
        threading.Timer(0.5, os.kill, me).start()
        strategy.reduce(torch.zeros(1))
    time.sleep(60)
    return {}


def cut_short(
    strategy: ParallelStrategy, folder: Path, how: str
) -> dict[str, Any]:
    """The second process fails while it writes its shard, the second time."""
    trainer = make_trainer(strategy)
    trainer.step()
    save(folder / "model", trainer, TOKENIZERS)
    trainer.step()
    writer = hf_storage.HuggingFaceStorageWriter
    write: Callable[..., Any] = writer.write_data

    def fails(self: Any, *args: Any) -> Any:
        if strategy.rank == 1 and how == "full":
            raise OSError("no space left")
        done = write(self, *args)
        if strategy.rank == 1:
            end_self(how)
        return done

    writer.write_data = fails  # type: ignore[method-assign]
    save(folder / "model", trainer, TOKENIZERS)
    return {}


def differ(
    strategy: ParallelStrategy, folder: Path, what: str
) -> dict[str, Any]:
    """Do not agree: on the number of batches, or on the config."""
    if what == "accumulation_steps":
        make_trainer(strategy, replace(CONFIG, accumulation_steps=4))
    seed = strategy.rank if what == "seed" else 0
    check_agreement(make_trainer(strategy, replace(CONFIG, seed=seed)))
    return {}


JOBS: dict[str, Callable[..., dict[str, Any]]] = {
    "compare": compare,
    "half": half,
    "checkpoint": checkpoint,
    "continued": continued,
    "files_by_step": files_by_step,
    "distribute": distribute,
    "fail": fail,
    "stop": stop,
    "cut_short": cut_short,
    "differ": differ,
}


def work(folder: Path, kind: str, jobs: list[list[str]]) -> dict[str, Any]:
    """What one process does."""

    def report(text: object) -> None:
        sys.stderr.write(f"said: {text}\n")

    sharded = kind == "sharded"
    with process_group(folder / "model", sharded=sharded, report=report) as (
        strategy,
        device,
    ):
        assert isinstance(strategy, FullyShardedDataParallel) == sharded
        assert (device == "cpu") == (strategy is not SINGLE_PROCESS)
        found = {
            job: JOBS[job](strategy, folder, *more) for job, *more in jobs
        }
    assert not dist.is_initialized()
    return found


def child(folder: Path, rank: int, plan: list[Any], port: int) -> None:
    """Be one process of the run."""
    kind, size, *jobs = plan
    code = 70
    try:
        errors = os.open(folder / f"{rank}.err", os.O_CREAT | os.O_WRONLY)
        os.dup2(errors, 2)
        info = {"RANK": rank, "WORLD_SIZE": size, "LOCAL_RANK": rank}
        info |= {"LOCAL_WORLD_SIZE": size, "MASTER_PORT": port}
        if size:
            os.environ |= {name: str(n) for name, n in info.items()}
            os.environ["MASTER_ADDR"] = "127.0.0.1"
            os.environ["TORCHELASTIC_USE_AGENT_STORE"] = "True"
        found = work(folder, kind, jobs)
        (folder / f"{rank}.json").write_text(json.dumps(found), "utf-8")
        code = 0
    except SystemExit as error:
        code = int(error.code or 0)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)


def serve() -> tuple[int, int]:
    """Have a process of its own hold the store, as torchrun's agent does.

    The store has a thread, and who has threads should not fork.
    """
    read_fd, write_fd = os.pipe()
    if pid := os.fork():
        with os.fdopen(read_fd) as line:
            os.close(write_fd)
            return pid, int(line.readline())
    store = dist.TCPStore(
        "127.0.0.1", 0, is_master=True, wait_for_workers=False
    )
    os.write(write_fd, f"{store.port}\n".encode())
    while True:
        signal.pause()


def run(folder: Path, plan: list[Any]) -> dict[str, Any]:
    """Start the processes; when one fails, end the others as torchrun does."""
    ranks = range(max(1, plan[1]))
    (server, port) = serve()
    for old in (*folder.glob("*.err"), *folder.glob("[0-9].json")):
        old.unlink()
    running: dict[int, int] = {}
    for rank in ranks:
        if not (pid := os.fork()):
            child(folder, rank, plan, port)
        running[pid] = rank
    codes = [0] * len(ranks)
    while running:
        pid, status = os.wait()
        codes[running.pop(pid)] = os.waitstatus_to_exitcode(status)
        if status:
            time.sleep(0.5)  # they mostly notice by themselves
            for other in running:
                os.kill(other, signal.SIGTERM)
    os.kill(server, signal.SIGKILL)
    os.waitpid(server, 0)
    files = [folder / f"{rank}.json" for rank in ranks]
    found = [json.loads(f.read_text()) if f.exists() else None for f in files]
    errors = [(folder / f"{rank}.err").read_text("utf-8") for rank in ranks]
    left = [str(path.relative_to(folder)) for path in leaves(folder)]
    return {"codes": codes, "found": found, "errors": errors, "left": left}


def train(killed: int, step: int) -> None:
    """The command, but one process kills itself."""
    from attention_book.cli.__main__ import main as run_command

    step_as_usual = Trainer.step

    def kill_or_step(self: Trainer) -> float:
        if self.strategy.rank == killed and len(self.losses) == step:
            os.kill(os.getpid(), signal.SIGKILL)
        return step_as_usual(self)

    Trainer.step = kill_or_step  # type: ignore[method-assign]
    run_command()


def main(folder: Path) -> None:
    """Do all of the plan."""
    for name, *plan in json.loads((folder / "plan.json").read_text("utf-8")):
        place = folder / name.split()[0]  # runs of one first word share it
        place.mkdir(exist_ok=True)
        start = time.monotonic()
        report = run(place, plan) | {"name": name}
        report["seconds"] = round(time.monotonic() - start, 1)
        sys.stdout.write(json.dumps(report) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    torch.set_num_threads(1)
    # PyTorch of itself, up to 2.10, where shards are written.
    warnings.filterwarnings("ignore", "TypedStorage is deprecated")
    if sys.argv[1] == "train":
        killed, step = map(int, sys.argv[2:4])
        del sys.argv[1:4]
        train(killed, step)
    else:
        main(Path(sys.argv[1]))
