# Made from docs/chapters/39-processes.md (7a20fc372e99). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import torch.distributed as dist
from torch.distributed.rendezvous import rendezvous

from attention_book.processes.errors import USER_ERRORS, is_peer_failure
from attention_book.processes.rendezvous import (
    TIMEOUT,
    device_of_rank,
    get_rank_info,
    start,
)
from attention_book.processes.shards import steps_saved
from attention_book.training.parallel import SINGLE_PROCESS, ParallelStrategy


class ErrorReporter:
    """Lets one process of many say what all have to say.

    Args:
        store: What all processes write to and read from.
        say: Is called with the text.
    """

    def __init__(self, store: Any, say: Callable[[str], object]) -> None:
        self.store = store
        self.say = say
        self.lock = threading.Lock()

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


def mourn(voice: ErrorReporter, out: Path) -> None:
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
) -> Iterator[tuple[ParallelStrategy, str]]:
    """Join the processes that torchrun has started; give strategy and device.

    Started otherwise, the process is alone. An error ends the process, having
    been said once: by itself, or by another that came upon the same.

    Args:
        out: Where checkpoints are.
        device: auto, cpu or cuda.
        sharded: Whether each process keeps only a part of the model.
        say: What to say an error with.
    """
    seat = get_rank_info(os.environ)
    if seat is None:
        if sharded:
            raise ValueError("sharded: wanted torchrun, got one process")
        yield SINGLE_PROCESS, device
        return
    store, *_ = next(rendezvous("env://", timeout=TIMEOUT))
    voice = ErrorReporter(store, say)
    with listening(partial(mourn, voice, out)):
        try:
            own = device_of_rank(device, seat.local_rank, seat.local_size)
            yield start(own, seat, store, sharded), str(own)
        except USER_ERRORS as error:
            voice.complain(str(error))
            raise SystemExit(1) from None
        except KeyboardInterrupt:
            voice.first("ended")
            raise
        except RuntimeError as error:
            if not is_peer_failure(error):
                raise
            mourn(voice, out)
            raise SystemExit(1) from None
    dist.destroy_process_group()
