# Made from docs/source/processes.md (2c3e1b6cdd21). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import torch.distributed as dist
from torch.distributed.rendezvous import rendezvous

from attention_book._errors import USER_ERRORS
from attention_book.training.parallel import SINGLE_PROCESS, ParallelStrategy
from attention_book.training.processes.errors import is_peer_failure
from attention_book.training.processes.rendezvous import (
    TIMEOUT,
    _init_process_group,
    device_of_rank,
    get_rank_info,
)
from attention_book.training.processes.shards import steps_saved


__all__ = ["ErrorReporter", "process_group", "sigterm_handler"]


class ErrorReporter:
    """Lets one process of many report what all come upon.

    Args:
        store: The key–value store that all processes share.
        print_error: Is called with the text.
    """

    def __init__(
        self, store: Any, print_error: Callable[[str], object]
    ) -> None:
        self.store = store
        self.print_error = print_error
        self.lock = threading.Lock()

    def report(self, text: str) -> None:
        """Report an error, unless another process has reported the same."""
        with self.lock:
            is_new = self._is_first(f"said {text}")
            self._is_first("ended")
            if is_new:
                self.print_error(text)

    def report_lost_peer(self, text: str) -> None:
        """Report that the run is over, unless a process has said why."""
        with self.lock:
            if self._is_first("ended"):
                self.print_error(text)

    def silence(self) -> None:
        """Have no process report that the run is over: its user knows."""
        self._is_first("ended")

    def _is_first(self, key: str) -> bool:
        """Whether no process has asked this before."""
        try:
            return bool(self.store.add(key, 1) == 1)
        except RuntimeError:  # nobody is left to ask
            return True


@contextmanager
def sigterm_handler(on_sigterm: Callable[[], None]) -> Iterator[None]:
    """Within it, SIGTERM ends the process even while it waits for others.

    Python handles signals between two of its own steps, and a process that
    waits in a library takes none. But set_wakeup_fd has the number of the
    signal written into a pipe at once, where a thread reads it.

    Args:
        on_sigterm: Is called before the process exits with 128 + SIGTERM.
    """
    read_fd, write_fd = os.pipe()
    os.set_blocking(write_fd, False)
    old_handler = signal.signal(signal.SIGTERM, lambda *_: None)
    old_wakeup_fd = signal.set_wakeup_fd(write_fd)

    def wait_for_signals() -> None:
        while number := os.read(read_fd, 1):
            if number[0] == signal.SIGTERM:
                on_sigterm()
                os._exit(128 + signal.SIGTERM)
        os.close(read_fd)

    threading.Thread(target=wait_for_signals, daemon=True).start()
    try:
        yield
    finally:
        signal.set_wakeup_fd(old_wakeup_fd)
        signal.signal(signal.SIGTERM, old_handler)
        os.close(write_fd)  # and the thread ends


_ABORT_TIMEOUT = 10.0  # seconds


@contextmanager
def _abort_nccl() -> Iterator[None]:
    """Within it, whoever fails while NCCL connects the processes ends at once.

    With another backend, or none yet, exceptions pass.
    """
    try:
        yield
    except (Exception, KeyboardInterrupt, SystemExit) as error:
        if not dist.is_initialized() or dist.get_backend() != "nccl":
            raise
        status = 1
        if isinstance(error, KeyboardInterrupt):
            status = 128 + signal.SIGINT
        elif not isinstance(error, SystemExit):
            traceback.print_exception(error)
        group: Any = dist.group.WORLD
        thread = threading.Thread(target=group.abort, daemon=True)
        thread.start()
        thread.join(_ABORT_TIMEOUT)
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def _report_lost_peer(reporter: ErrorReporter, out: Path) -> None:
    """Report that the run is over, and how to resume it."""
    reporter.report_lost_peer(
        f"{out}: another process of this run ended, or all were told to; "
        f"the same command goes on from step {steps_saved(out)}"
    )


@contextmanager
def process_group(
    out: Path,
    device: str = "auto",
    *,
    sharded: bool = False,
    report: Callable[[str], object],
) -> Iterator[tuple[ParallelStrategy, str]]:
    """Join the processes of torchrun; give strategy and device.

    Started otherwise, the process is alone. An error of USER_ERRORS ends the
    process, once this or another process has reported it.

    Args:
        out: Where checkpoints are.
        device: auto, cpu or cuda.
        sharded: Whether each process keeps a shard of the model only (FSDP).
        report: Is called with the text of an error.
    """
    info = get_rank_info(os.environ)
    if info is None:
        if sharded:
            raise ValueError("sharded: wanted torchrun, got one process")
        yield SINGLE_PROCESS, device
        return
    store, *_ = next(rendezvous("env://", timeout=TIMEOUT))
    reporter = ErrorReporter(store, report)
    on_sigterm = partial(_report_lost_peer, reporter, out)
    with sigterm_handler(on_sigterm), _abort_nccl():
        try:
            own = device_of_rank(device, info.local_rank, info.local_size)
            yield _init_process_group(own, info, store, sharded), str(own)
        except USER_ERRORS as error:
            reporter.report(str(error))
            raise SystemExit(1) from None
        except KeyboardInterrupt:
            reporter.silence()
            raise
        except RuntimeError as error:
            if not is_peer_failure(error):
                raise
            _report_lost_peer(reporter, out)
            raise SystemExit(1) from None
    dist.destroy_process_group()
