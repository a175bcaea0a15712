# Made from docs/source/processes.md (9a158c7d6106). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import torch

from attention_book.io.files import lock
from attention_book.training.parallel import ParallelStrategy


__all__ = ["lock_for_all"]


_TURN = 60.0  # seconds; shorter than what a process waits for another


@contextmanager
def lock_for_all(
    out: Path,
    strategy: ParallelStrategy,
    device: torch.device,
    *,
    blocking: bool = False,
    report: Callable[[str], object],
) -> Iterator[None]:
    """Have the first process lock a file, while the others wait for it.

    Args:
        out: The file that the processes train.
        strategy: How they share the work.
        device: Of this process.
        blocking: Whether to wait for another run that holds it.
        report: Is called once with who that is, before waiting.

    Raises:
        BlockingIOError: Another run holds it, and blocking is false.
        OSError: No file can be made there.
    """
    with ExitStack() as stack:
        is_locked = False
        timeout = 0.0
        while not is_locked:
            if strategy.rank == 0:
                try:
                    stack.enter_context(lock(out, timeout))
                    is_locked = True
                except BlockingIOError as error:
                    if not blocking:
                        raise BlockingIOError(
                            f"{error}; give --wait to wait for it, or "
                            "another file"
                        ) from None
                    if not timeout:
                        report(f"{error}; waiting for it")
            own = torch.tensor(float(is_locked), device=device)
            is_locked = bool(strategy.reduce(own) > 0)
            timeout = _TURN
        yield
