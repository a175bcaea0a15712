"""Train in a process that is killed, again and again, and resumed.

python tests/killed_worker.py FOLDER KILLS prints one line of JSON for each
process: the steps that it announced as saved, and whether another one was
refused meanwhile. Then come what lies in the folder, and what is in the file
of this run and in that of one that nobody killed. torch is imported once and
then forked, before it starts any thread.
"""

import hashlib
import json
import os
import random
import signal
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch

from attention_book import Trainer, load_checkpoint, save_checkpoint
from attention_book.io.files import lock
from attention_book.io.tensors import read_tensors
from attention_book.tokenizers.special_tokens import SPECIAL_TOKENS
from attention_book.tokenizers.words import WordTokenizer
from tests.factories import TRAINING, make_trainer


# large tables and short sentences: most of the time goes into saving
TOKENIZER = WordTokenizer([*SPECIAL_TOKENS, *(f"word{i}" for i in range(900))])


def begin(max_steps: int) -> Trainer:
    """The same every time."""
    n = len(TOKENIZER)
    config = replace(TRAINING, max_steps=max_steps)
    sizes = {"source_vocab_size": n, "target_vocab_size": n, "n_layers": 1}
    return make_trainer(config, dropout=0.1, **sizes)


@dataclass
class Run:
    """A training in a process of its own."""

    pid: int
    listen: int

    def hear(self) -> int | None:
        """The next step that it announces; None when it has ended."""
        line = b""
        while not line.endswith(b"\n"):
            if not (byte := os.read(self.listen, 1)):
                return None
            line += byte
        return int(line)

    def end(self, kill: bool) -> list[int | None]:
        """Let it come to its end, or kill it; what it still announced."""
        if kill:
            os.kill(self.pid, signal.SIGKILL)
        said = [*iter(self.hear, None)]
        _, status = os.waitpid(self.pid, 0)
        os.close(self.listen)
        assert os.WIFSIGNALED(status) if kill else status == 0
        return said


def train(path: Path, announce: int, max_steps: int) -> None:
    """Go on from the file; save after every step."""
    trainer = begin(max_steps)
    with lock(path):
        if path.exists():
            load_checkpoint(path, trainer)
        os.write(announce, f"{len(trainer.losses)}\n".encode())
        while len(trainer.losses) < max_steps:
            trainer.step()
            save_checkpoint(path, trainer, (TOKENIZER, TOKENIZER))
            os.write(announce, f"{len(trainer.losses)}\n".encode())


def start(path: Path, max_steps: int) -> Run:
    """Train in a process of its own."""
    listen, announce = os.pipe()
    if child := os.fork():
        os.close(announce)
        return Run(child, listen)
    try:
        train(path, announce, max_steps)
    except BaseException as error:
        os.write(2, f"{error!r}\n".encode())
        os._exit(1)
    os._exit(0)


def parts(path: Path) -> list[Path]:
    """What unfinished writers have left, or are writing."""
    return list(path.parent.glob(f"{path.name}.*.part"))


def is_refused(path: Path) -> bool:
    """Whether a third one is refused."""
    try:
        with lock(path):
            return False
    except BlockingIOError:
        return True


def kill_at_random(path: Path, run: Run, rng: random.Random) -> dict[str, Any]:
    """Kill a run: every other time while it saves."""
    said = [run.hear() for _ in range(rng.randint(1, 3))]
    refused = is_refused(path)
    if rng.random() < 0.5:
        give_up = time.monotonic() + 10
        while not parts(path) and time.monotonic() < give_up:
            time.sleep(0)
    time.sleep(rng.random() * 0.01)
    said += run.end(kill=True)
    if path.exists():
        read_tensors(path)
    return {"refused": refused, "said": said}


def result(path: Path) -> str:
    """What a checkpoint holds; read here, torch starts no thread for it."""
    tensors, _ = read_tensors(path)
    digest = hashlib.sha256()
    for name, tensor in sorted(tensors.items()):
        digest.update(name.encode() + tensor.numpy().tobytes())
    return digest.hexdigest()


def main(folder: Path, n_kills: int) -> None:
    """Report as the text at the top says."""
    torch.set_num_threads(1)
    max_steps = 6 * n_kills + 20
    begin(max_steps)  # imports what torch imports late
    rng = random.Random()
    cut = folder / "cut"
    whole = folder / "whole"
    reports: list[dict[str, Any]] = []
    for _ in range(n_kills):
        reports.append(kill_at_random(cut, start(cut, max_steps), rng))
    reports.append({"said": start(cut, max_steps).end(kill=False)})
    start(whole, max_steps).end(kill=False)
    left = sorted(path.name for path in folder.iterdir())
    reports += [{"left": left}, result(cut), result(whole)]
    sys.stdout.write("\n".join(map(json.dumps, reports)))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
