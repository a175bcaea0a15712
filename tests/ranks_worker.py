"""What the processes of a run do; tests/ranks.py starts them under torchrun.

python -m torch.distributed.run … tests/ranks_worker.py FOLDER KIND JOB…: all
processes join, do the jobs one after another and write what each found to
FOLDER/RANK.json. A job is its name and arguments, parted by commas.

python tests/ranks_worker.py train KILLED STEP OPTIONS… is the command's own
train under torchrun, but the process of this rank kills itself at the step.
"""

import json
import os
import signal
import sys
import warnings
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist

from attention_book import (
    Trainer,
    TrainingConfig,
    TranslationBatches,
    translation_loss,
    validation_loss,
)
from attention_book.io.progress import (
    fingerprint,
    load_checkpoint,
    save_checkpoint,
)
from attention_book.models.transformer import Transformer
from attention_book.training.distributed import (
    check_agreement,
    load_trainer,
    process_group,
    save_trainer,
)
from attention_book.training.loading import Batch
from attention_book.training.parallel import (
    SINGLE_PROCESS,
    DataParallel,
    FullyShardedDataParallel,
    ParallelStrategy,
)
from tests import factories
from tests.factories import make_examples, make_transformer


SIZES: dict[str, Any] = {"d_model": 12, "n_heads": 2, "dropout": 0.3}
KINDS: dict[str, dict[str, Any]] = {
    "plain": {"positions": "rotary", "feed_forward": "swiglu"},
    "tied": {
        "share_embeddings": True,
        "target_vocab_size": 13,
        "positions": "learned",
        "norm": "pre",
    },
}
CONFIG = replace(factories.TRAINING, max_steps=12, accumulation_steps=6)


def make_trainer(
    strategy: ParallelStrategy = SINGLE_PROCESS,
    config: TrainingConfig = CONFIG,
    **changes: Any,
) -> Trainer:
    """Return the trainer that all processes, and the tests, make alike."""
    return factories.make_trainer(config, None, strategy, **SIZES | changes)


def save(out: Path, trainer: Trainer) -> None:
    save_trainer(trainer, partial(save_checkpoint, out))


def load(out: Path, trainer: Trainer) -> None:
    load_trainer(trainer, partial(load_checkpoint, out))


def numbers_of(trainer: Trainer) -> dict[str, list[float]]:
    """Return parameters, optimizer state and last gradients, gathered."""
    found = {}
    for name, parameter in trainer.model.named_parameters():
        tensors = {"": parameter.detach(), ".grad": parameter.grad}
        tensors |= trainer.optimizer.state[parameter]
        for kind, x in tensors.items():
            assert x is not None
            found[name + kind] = trainer.strategy.gather(x).flatten().tolist()
    return found


def count_local(trainer: Trainer) -> int:
    """Return how many parameters this process holds."""
    return sum(
        getattr(p, "to_local", lambda p=p: p)().numel()
        for p in trainer.model.parameters()
    )


def compare(strategy: ParallelStrategy, folder: Path) -> dict[str, Any]:
    """Train each kind of model."""
    found: dict[str, Any] = {}
    for name, changes in KINDS.items():
        trainer = make_trainer(strategy, **changes)
        losses = [trainer.step()]
        first = numbers_of(trainer)
        losses += [trainer.step(), trainer.step()]
        held_out = TranslationBatches(make_examples(5), CONFIG)
        found[name] = {
            "losses": losses,
            "validation": validation_loss(trainer, held_out),
            "first": first,
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
    save(out, trainer)
    resumed = make_trainer(strategy, config)
    load(out, resumed)
    found = {"losses": losses, "scale": resumed.scaler.get_scale()}
    return found | {"next": [trainer.step(), resumed.step()]}


def saved(strategy: ParallelStrategy, folder: Path, kind: str) -> list[float]:
    """Train five steps; save before the first and after the last."""
    trainer = make_trainer(strategy, **KINDS[kind])
    name = f"{type(strategy).__name__}-{kind}"
    save(folder / f"{name}-0", trainer)
    for _ in range(5):
        trainer.step()
    save(folder / f"{name}-5", trainer)
    return trainer.losses


def resumed(strategy: ParallelStrategy, folder: Path) -> dict[str, Any]:
    """Go on from whatever others have saved here, for two steps."""
    found = {}
    for out in sorted(folder.glob("*-[05]")):
        kind = out.name.split("-")[1]
        trainer = make_trainer(strategy, **KINDS[kind])
        load(out, trainer)
        first = len(trainer.losses)
        losses = [trainer.step(), trainer.step()]
        found[out.name] = {"first": first, "losses": losses}
    return found


def distribute(strategy: ParallelStrategy, folder: Path) -> dict[str, Any]:
    """Train with a loss that notes which batches come to this process."""
    seen: list[list[int]] = []

    def loss_fn(
        model: Transformer, batch: Batch, _: float = 0.0
    ) -> torch.Tensor:
        seen.append(batch.source[:, 0].tolist())
        return translation_loss(model, batch)

    examples = [([i + 3] * (i % 4 + 1), [1, 3, 2]) for i in range(31)]
    model = make_transformer(**SIZES | {"source_vocab_size": 34})
    config = replace(CONFIG, batch_tokens=12)
    batches = TranslationBatches(examples, config)
    trainer = Trainer(model, batches, config, loss_fn, strategy)
    n = len(batches)
    for _ in range(6 * n // config.accumulation_steps):
        trainer.step()
    return {"n": n, "seen": seen}


def agree(strategy: ParallelStrategy, folder: Path) -> list[str]:
    """Say the same, and then not."""
    check_agreement(strategy, fingerprint(make_trainer()))
    found = []
    for seed in 0, strategy.rank:
        config = replace(CONFIG, seed=seed)
        try:
            check_agreement(strategy, fingerprint(make_trainer(config=config)))
        except ValueError as error:
            found.append(str(error))
    return found


def fail(strategy: ParallelStrategy, folder: Path, how: str) -> None:
    """The second process comes upon something after two steps."""
    trainer = make_trainer(strategy)
    for number in range(4):
        trainer.step()
        save(folder / "model", trainer)
        if number == 1 and strategy.rank == 1:
            if how == "kill":
                os.kill(os.getpid(), signal.SIGKILL)
            raise TypeError("a bug")


JOBS: dict[str, Callable[..., Any]] = {
    job.__name__: job
    for job in (compare, half, saved, resumed, distribute, agree, fail)
}


def main(folder: Path, kinds: str, *jobs: str) -> None:
    """Do all jobs of a run, for each kind of strategy."""
    found = {}
    sharded = "sharded" in kinds
    with process_group("cpu", sharded=sharded) as (given, device):
        assert device == "cpu"
        for kind in kinds.split("+"):
            strategy = DataParallel() if kind == "parallel" else given
            assert (kind == "sharded") == isinstance(
                strategy, FullyShardedDataParallel
            )
            for job in jobs:
                name, *more = job.split(",")
                done = JOBS[name](strategy, folder, *more)
                found[f"{kind} {name}"] = done
        rank = given.rank
    assert not dist.is_initialized()
    (folder / f"{rank}.json").write_text(json.dumps(found), "utf-8")


def train(killed: int, step: int) -> None:
    """The command, but one process kills itself."""
    from attention_book.cli.app import main as run_command

    step_as_usual = Trainer.step

    def kill_or_step(self: Trainer) -> float:
        if self.strategy.rank == killed and len(self.losses) == step:
            os.kill(os.getpid(), signal.SIGKILL)
        return step_as_usual(self)

    Trainer.step = kill_or_step  # type: ignore[method-assign]
    run_command()


if __name__ == "__main__":
    torch.set_num_threads(1)
    warnings.filterwarnings("ignore", "TypedStorage is deprecated")
    if sys.argv[1] == "train":
        killed, step = map(int, sys.argv[2:4])
        del sys.argv[1:4]
        train(killed, step)
    else:
        main(Path(sys.argv[1]), *sys.argv[2:])
