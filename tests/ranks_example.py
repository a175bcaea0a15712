"""Runs of several processes; tests/test_scale_out.py reads what comes of them.

python tests/ranks_example.py FOLDER does what FOLDER/plan.json lists, run by
run, and prints a line of JSON for each: what each process exited with, found,
and wrote on stderr. torch is imported once and then forked, so that a process
costs nothing but its work; what torchrun would set is set here.

python tests/ranks_example.py train KILLED STEP OPTIONS… is the command's own
train under torchrun, but the process of this number kills itself at the step.
"""

import json
import os
import random
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
import torch._dynamo  # which the first step would import, each time
import torch.distributed as dist
from torch.distributed.checkpoint import hf_storage
from torch.distributed.tensor import DTensor

from attention_book import command_line
from attention_book.corpus import SPECIAL_TOKENS, WordTokenizer
from attention_book.processes import (
    check_agreement,
    joined,
    keep,
    resume,
    save_shards,
)
from attention_book.processes.shards import save_whole, tensors_of
from attention_book.scale_out import FullyShardedDataParallel, validation_loss
from attention_book.training import (
    SINGLE_PROCESS,
    Batch,
    ParallelStrategy,
    Trainer,
    TrainingConfig,
    translation_loss,
)
from attention_book.training.loop import add_gradients
from attention_book.transformer import Transformer, TransformerConfig


SOURCE = WordTokenizer([*SPECIAL_TOKENS, *"abcdefghij"])
TARGET = WordTokenizer([*SPECIAL_TOKENS, *"abcdefgh"])
SIZES: dict[str, Any] = {
    "source_vocab_size": 13,
    "target_vocab_size": 11,
    "d_model": 12,
    "n_heads": 2,
    "d_ff": 20,
    "n_layers": 2,
    "dropout": 0.3,
}
KINDS: dict[str, dict[str, Any]] = {
    "plain": {},
    "tied": {
        "share_embeddings": True,
        "source_vocab_size": 11,
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


def some_examples(n: int = 17) -> list[Any]:
    rng = random.Random(2)

    def words(most: int) -> list[int]:
        return [rng.randrange(3, 11) for _ in range(rng.randint(1, most))]

    return [(words(7), [1, *words(5), 2]) for _ in range(n)]


def a_trainer(
    strategy: ParallelStrategy = SINGLE_PROCESS,
    config: TrainingConfig = CONFIG,
    **changes: Any,
) -> Trainer:
    torch.manual_seed(1)
    model = Transformer(TransformerConfig(**SIZES | changes))
    return Trainer(model, some_examples(), config, strategy=strategy)


def numbers_of(trainer: Trainer) -> dict[str, list[float]]:
    """All that moves, whole."""
    return {
        name: trainer.strategy.whole(tensor).flatten().tolist()
        for name, tensor in tensors_of(trainer).items()
    }


def gradients_of(trainer: Trainer) -> dict[str, list[float]]:
    """The gradients of the step to come, whole."""
    trainer.model.train()
    trainer.optimizer.zero_grad()
    add_gradients(trainer, len(trainer.losses) + 1)
    found = {}
    for name, parameter in trainer.model.named_parameters():
        assert parameter.grad is not None
        found[name] = trainer.strategy.whole(parameter.grad).flatten().tolist()
    return found


def held(trainer: Trainer) -> int:
    """How many numbers this process sits on."""
    return sum(
        tensor.to_local().numel()
        if isinstance(tensor, DTensor)
        else tensor.numel()
        for tensor in tensors_of(trainer).values()
    )


def compare(
    strategy: ParallelStrategy, folder: Path, *kinds: str
) -> dict[str, Any]:
    """Train some kinds of models."""
    found: dict[str, Any] = {}
    for name in kinds:
        trainer = a_trainer(strategy, **KINDS[name])
        found[name] = {
            "gradients": gradients_of(trainer),
            "losses": [trainer.step() for _ in range(3)],
            "unseen": validation_loss(trainer, some_examples(5)),
            "numbers": numbers_of(trainer),
            "held": held(trainer),
            "after": trainer.step(),
        }
    return found


def half(strategy: ParallelStrategy, folder: Path) -> dict[str, Any]:
    """Train in fp16, whose losses are scaled, and save the scale."""
    trainer = a_trainer(strategy, replace(CONFIG, precision="fp16"))
    trainer.scaler.load_state_dict(
        trainer.scaler.state_dict() | {"scale": 512.0}
    )
    losses = [trainer.step() for _ in range(3)]
    out = folder / f"half-{type(strategy).__name__}"
    keep(out, trainer, SOURCE, TARGET)
    again = a_trainer(strategy, replace(CONFIG, precision="fp16"))
    resume(out, again)
    found = {"losses": losses, "scale": again.scaler.get_scale()}
    return found | {"next": [trainer.step(), again.step()]}


def save(
    strategy: ParallelStrategy, folder: Path, *ways: str
) -> dict[str, Any]:
    """Take five steps; save whole, in parts, or as train does."""
    trainer = a_trainer(strategy)
    losses = [trainer.step() for _ in range(5)]
    for way in ways:
        if way.startswith("parts"):
            save_shards(folder / way, trainer)
        else:
            write = save_whole if way.startswith("whole") else keep
            write(folder / way, trainer, SOURCE, TARGET)
    return {"losses": losses}


def continued(
    strategy: ParallelStrategy, folder: Path, *ways: str
) -> dict[str, Any]:
    """Go on from each checkpoint and take three steps more."""
    found: dict[str, Any] = {}
    for way in ways:
        trainer = a_trainer(strategy)
        resume(folder / way, trainer)
        start = len(trainer.losses)
        numbers = numbers_of(trainer)
        losses = [trainer.step() for _ in range(3)]
        found[way] = {"start": start, "losses": losses, "numbers": numbers}
    return found


def kept(strategy: ParallelStrategy, folder: Path) -> dict[str, Any]:
    """What lies there after each step, as train saves."""
    trainer = a_trainer(strategy, replace(CONFIG, max_steps=3))
    found = []
    out = folder / "kept-one-by-one/m"
    out.parent.mkdir(exist_ok=True)
    for _ in range(4):
        keep(out, trainer, SOURCE, TARGET)
        keep(out, trainer, SOURCE, TARGET)  # twice does no harm
        found.append(
            [str(p.relative_to(out.parent)) for p in leaves(out.parent)]
        )
        strategy.sum(torch.zeros(1))
        if len(trainer.losses) < 3:
            trainer.step()
    return {"found": found}


def leaves(folder: Path) -> list[Path]:
    """All files but those of this script."""
    found = [p for p in folder.rglob("*") if p.is_file()]
    return sorted(p for p in found if p.suffix not in (".json", ".err"))


def deal(
    strategy: ParallelStrategy, folder: Path, epochs: str
) -> dict[str, Any]:
    """Train, noting which batches come here."""
    seen: list[list[int]] = []

    def loss_fn(model: Transformer, batch: Batch, _: float) -> torch.Tensor:
        seen.append(batch.source[:, 0].tolist())
        return translation_loss(model, batch)

    examples = [([i + 3] * (i % 4 + 1), [1, 3, 2]) for i in range(31)]
    model = Transformer(TransformerConfig(**SIZES | {"source_vocab_size": 34}))
    config = replace(CONFIG, batch_tokens=12)
    trainer = Trainer(model, examples, config, loss_fn, strategy)
    n = len(trainer.batches.order)
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
    trainer = a_trainer(strategy)
    for number in range(4):
        trainer.step()
        keep(folder / "model", trainer, SOURCE, TARGET)
        if number == 1 and str(strategy.rank) in ranks:
            end_self(how)
    return {}


def stop(strategy: ParallelStrategy, folder: Path) -> dict[str, Any]:
    """Be told to stop while waiting for the other."""
    if strategy.rank == 0:
        me = os.getpid(), signal.SIGTERM
        threading.Timer(0.5, os.kill, me).start()
        strategy.sum(torch.zeros(1))
    time.sleep(60)
    return {}


def cut_short(
    strategy: ParallelStrategy, folder: Path, how: str
) -> dict[str, Any]:
    """The second process fails while it writes its part, the second time."""
    trainer = a_trainer(strategy)
    trainer.step()
    keep(folder / "model", trainer, SOURCE, TARGET)
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
    keep(folder / "model", trainer, SOURCE, TARGET)
    return {}


def differ(
    strategy: ParallelStrategy, folder: Path, what: str
) -> dict[str, Any]:
    """Do not agree: on the number of batches, or on the config."""
    if what == "accumulation_steps":
        a_trainer(strategy, replace(CONFIG, accumulation_steps=4))
    seed = strategy.rank if what == "seed" else 0
    check_agreement(a_trainer(strategy, replace(CONFIG, seed=seed)))
    return {}


JOBS: dict[str, Callable[..., dict[str, Any]]] = {
    "compare": compare,
    "half": half,
    "save": save,
    "continued": continued,
    "kept": kept,
    "deal": deal,
    "fail": fail,
    "stop": stop,
    "cut_short": cut_short,
    "differ": differ,
}


def work(folder: Path, kind: str, jobs: list[list[str]]) -> dict[str, Any]:
    """What one process does."""

    def say(text: object) -> None:
        sys.stderr.write(f"said: {text}\n")

    sharded = kind == "sharded"
    with joined(folder / "model", sharded=sharded, say=say) as (
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
        seat = {"RANK": rank, "WORLD_SIZE": size, "LOCAL_RANK": rank}
        seat |= {"LOCAL_WORLD_SIZE": size, "MASTER_PORT": port}
        if size:
            os.environ |= {name: str(n) for name, n in seat.items()}
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
    listen, tell = os.pipe()
    if pid := os.fork():
        with os.fdopen(listen) as line:
            os.close(tell)
            return pid, int(line.readline())
    store = dist.TCPStore(
        "127.0.0.1", 0, is_master=True, wait_for_workers=False
    )
    os.write(tell, f"{store.port}\n".encode())
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
    plain = Trainer.step

    def kill_or_step(self: Trainer) -> float:
        if self.strategy.rank == killed and len(self.losses) == step:
            os.kill(os.getpid(), signal.SIGKILL)
        return plain(self)

    Trainer.step = kill_or_step  # type: ignore[method-assign]
    command_line.main()


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
    if sys.argv[1] == "train":
        killed, step = map(int, sys.argv[2:4])
        del sys.argv[1:4]
        train(killed, step)
    else:
        main(Path(sys.argv[1]))
