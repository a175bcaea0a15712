"""Train in processes that are killed, again and again, and go on each time.

python tests/killed_worker.py FOLDER KILLS prints one line of JSON for each
process: the steps that it found in the checkpoint, those that it announced as
saved, whether it was killed, and whether that left half a file behind. The
last two lines are of the run that came to its end and of one that nobody
killed: their losses, and a digest of their parameters. torch is imported once
and then forked, before it starts any thread.
"""

import hashlib
import json
import os
import random
import signal
import sys
import time
from pathlib import Path

import torch

from attention_book.checkpoints import (
    load_checkpoint,
    read_tensors,
    save_checkpoint,
)
from attention_book.corpus import BOS, EOS, SPECIAL_TOKENS, WordTokenizer
from attention_book.training import BatchLoader, Trainer, TrainingConfig
from attention_book.transformer import Transformer, TransformerConfig


MAX_STEPS = 80
# large tables and short sentences: most of the time goes into saving
TOKENIZER = WordTokenizer([*SPECIAL_TOKENS, *(f"word{i}" for i in range(900))])
CONFIG = TrainingConfig(
    max_steps=MAX_STEPS, batch_tokens=30, warmup_steps=9, learning_rate=1e-2
)


def make_trainer() -> Trainer:
    """The same every time."""
    torch.manual_seed(5)
    rng = random.Random(5)
    examples = []
    for _ in range(25):
        ids = [rng.randrange(3, 900) for _ in range(rng.randint(1, 9))]
        examples.append((ids, [BOS, *reversed(ids), EOS]))
    model_config = TransformerConfig(
        source_vocab_size=len(TOKENIZER),
        target_vocab_size=len(TOKENIZER),
        d_model=32,
        n_heads=2,
        d_ff=16,
        n_layers=1,
    )
    batches = BatchLoader(examples, CONFIG)
    return Trainer(Transformer(model_config), batches, CONFIG)


def train(path: Path, announce: int) -> None:
    """Go on from the checkpoint, if there is one; save after every step."""
    trainer = make_trainer()
    if path.exists():
        load_checkpoint(path, trainer)
    os.write(announce, f"{len(trainer.losses)}\n".encode())
    while len(trainer.losses) < MAX_STEPS:
        trainer.step()
        save_checkpoint(path, trainer, (TOKENIZER, TOKENIZER))
        os.write(announce, f"{len(trainer.losses)}\n".encode())


def start(path: Path) -> tuple[int, int]:
    """Train in a process of its own; return it and what it announces."""
    listen, announce = os.pipe()
    if child := os.fork():
        os.close(announce)
        return child, listen
    try:
        train(path, announce)
    except BaseException as error:
        os.write(2, f"{error!r}\n".encode())
        os._exit(1)
    os._exit(0)


def kill_at_random(path: Path, rng: random.Random) -> dict[str, object]:
    """Kill it after some saves: every other time while it is saving."""

    def parts() -> list[Path]:
        return list(path.parent.glob(f"{path.name}.*.part"))

    for left in parts():
        left.unlink()
    child, listen = start(path)
    with os.fdopen(listen) as lines:
        said = [int(lines.readline()) for _ in range(rng.randint(1, 3))]
        if rng.random() < 0.5:
            give_up = time.monotonic() + 10
            while not parts() and time.monotonic() < give_up:
                time.sleep(0)
        time.sleep(rng.random() * 0.01)
        os.kill(child, signal.SIGKILL)
        said += [int(line) for line in lines]
    _, status = os.waitpid(child, 0)
    return {
        "said": said,
        "killed": os.WIFSIGNALED(status),
        "half": bool(parts()),
    }


def finish(path: Path) -> dict[str, object]:
    """Let it come to its end."""
    child, listen = start(path)
    with os.fdopen(listen) as lines:
        said = [int(line) for line in lines]
    _, status = os.waitpid(child, 0)
    return {"said": said, "status": status}


def result(path: Path) -> dict[str, object]:
    """What a checkpoint holds; read here, torch starts no thread for it."""
    tensors, _ = read_tensors(path)
    digest = hashlib.sha256()
    for name, tensor in sorted(tensors.items()):
        digest.update(name.encode() + tensor.numpy().tobytes())
    losses = [loss.hex() for loss in tensors["losses"].tolist()]
    return {"losses": losses, "digest": digest.hexdigest()}


def main(folder: Path, n_kills: int) -> None:
    """Report as the text at the top says."""
    torch.set_num_threads(1)
    make_trainer()  # imports what torch imports late
    rng = random.Random()
    cut = folder / "cut"
    whole = folder / "whole"
    reports = []
    for _ in range(n_kills):
        report = kill_at_random(cut, rng)
        held = len(read_tensors(cut)[0]["losses"]) if cut.exists() else 0
        reports.append(report | {"held": held})
    reports += [finish(cut), finish(whole), result(cut), result(whole)]
    sys.stdout.write("\n".join(map(json.dumps, reports)))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
