# Made from docs/source/checkpoints.md (a5001befa708). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
import os
import re
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path

from filelock import FileLock, Timeout

from attention_book.io.files import target_of
from attention_book.io.tensor_files import check_regular, one_line


__all__ = ["lock"]


def _holder(place: Path) -> str:
    """Return what the holder of a lock says of itself, if it can be read."""
    with suppress(OSError):
        check_regular(place)
        with place.open("rb") as file:
            return one_line(file.read(200).decode(errors="replace"))
    return ""


@contextmanager
def lock(path: str | Path, timeout: float = 0.0) -> Iterator[None]:
    """Keep a file for this process; the system frees it when that ends.

    Beside the file lies FILE.lock, as long as it is kept. A process that is
    killed leaves it behind, but no longer locked: the next one takes it.

    Args:
        path: The file that will be written, and may not be there yet.
        timeout: Seconds to wait for another process that keeps it.

    Raises:
        BlockingIOError: Another process still keeps it; says which.
        OSError: No file can be made there.
    """
    target = target_of(path)
    place = Path(f"{target}.lock")
    if not target.parent.is_dir():
        raise FileNotFoundError(
            f"{path}: could not be written: there is no folder {target.parent}"
        )
    held = FileLock(place)
    try:
        held.acquire(timeout)
    except Timeout:
        holder = _holder(place) or "another process"
        raise BlockingIOError(
            f"{path}: is being written by {holder}"
        ) from None
    except OSError as error:
        raise OSError(f"{path}: could not be locked: {error}") from None
    try:
        with suppress(OSError):
            now = datetime.now().astimezone().isoformat(" ", "seconds")
            place.write_text(
                f"process {os.getpid()} on {socket.gethostname()}, "
                f"since {now}\n",
                "utf-8",
            )
        _remove_parts(target)
        yield
    finally:
        with suppress(OSError):
            place.unlink()  # still locked: who waits for it makes another
        held.release()


def _remove_parts(target: Path) -> None:
    """Remove what killed writers of a file left of it."""
    pattern = re.compile(re.escape(target.name) + r"\.[0-9a-f]{8}\.part")
    for part in target.parent.iterdir():
        if pattern.fullmatch(part.name):
            with suppress(OSError):
                part.unlink()
