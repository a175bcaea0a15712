# Made from docs/source/checkpoints.md (81647b6a80f3). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""Files of unknown origin: read with suspicion, written whole or not at all.

Explained on the page "Files and checkpoints".
"""

import json
import os
import re
import secrets
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout


__all__ = [
    "check_regular",
    "lock",
    "prefix_errors",
    "printable",
    "read_json",
    "read_small",
    "write_file",
]


_KINDS = {stat.S_IFDIR: "a folder", stat.S_IFIFO: "a pipe"}


def check_regular(path: str | Path) -> None:
    """Raise OSError unless this is a file, or a link to one.

    A device may have no end, and a pipe may keep its reader waiting.
    """
    mode = Path(path).stat().st_mode
    if not stat.S_ISREG(mode):
        kind = _KINDS.get(stat.S_IFMT(mode), "a device")
        raise OSError(f"{path}: wanted a file, got {kind}")


def printable(text: object, max_length: int = 300) -> str:
    """Return a text fit for an error: printable, one line, not too long."""
    line = " ".join(str(text)[: 4 * max_length].split())
    line = "".join(x if x.isprintable() else "\ufffd" for x in line)
    return line if len(line) <= max_length else line[: max_length - 1] + "…"


@contextmanager
def prefix_errors(path: str | Path) -> Iterator[None]:
    """Turn what is wrong in a file into one line that begins with its path."""
    try:
        yield
    except OSError:
        raise
    except Exception as error:
        why = f"has no {error}" if isinstance(error, KeyError) else error
        why = printable(why) or "does not fit into memory"
        raise ValueError(f"{path}: {why}") from None


_MAX_BYTES = 2**25  # of a file beside the weights


def read_small(path: Path) -> bytes:
    """Return what a file holds.

    Raises:
        OSError: There is no such file, or it can't be read.
        ValueError: It is too large.
    """
    check_regular(path)
    with path.open("rb") as file:
        data = file.read(_MAX_BYTES + 1)
    if len(data) > _MAX_BYTES:
        raise ValueError(
            f"{path}: wanted at most {_MAX_BYTES} bytes, got more"
        )
    return data


def read_json(path: Path) -> dict[str, Any]:
    """Return the object that a JSON file holds.

    Raises:
        OSError: There is no such file, or it can't be read.
        ValueError: It holds none.
    """
    with prefix_errors(path):
        try:
            entries = json.loads(read_small(path))
        except ValueError as error:
            raise ValueError(f"wanted JSON, got {error}") from None
        if type(entries) is not dict:
            raise ValueError(
                f"wanted an object of JSON, got {printable(entries, 60)}"
            )
    return entries


def _target_of(path: str | Path) -> Path:
    """Return the file that is to be written: a link is followed.

    Raises:
        OSError: It can't be written, because it is a folder, a device,
            protected, or a link to itself.
    """
    target = Path(os.path.realpath(path))
    try:
        check_regular(target)
    except FileNotFoundError:  # it is to be made
        return target
    if not os.access(target, os.W_OK):
        raise PermissionError(f"{path}: wanted to write, but it is read-only")
    return target


def write_file(path: str | Path, data: bytes) -> None:
    """Write a file: whole, or not at all.

    Raises:
        OSError: It can't be written; what was there before is still there.
    """
    target = _target_of(path)
    part = Path(f"{target}.{secrets.token_hex(4)}.part")  # no other writer's
    try:
        with part.open("xb") as file:
            if target.exists():
                shutil.copymode(target, part)
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        part.replace(target)
    except OSError as error:
        why = error.strerror or error  # the temporary file is ours to name
        raise OSError(f"{path}: could not be written: {why}") from None
    finally:
        with suppress(OSError):  # it is gone if all went well
            part.unlink()


def _remove_parts(target: Path) -> None:
    """Remove what killed writers of a file left of it."""
    pattern = re.compile(re.escape(target.name) + r"\.[0-9a-f]{8}\.part")
    for part in target.parent.iterdir():
        if pattern.fullmatch(part.name):
            with suppress(OSError):
                part.unlink()


@contextmanager
def lock(path: str | Path, timeout: float = 0.0) -> Iterator[None]:
    """Keep a file for this process; the system frees it when that ends.

    Beside the file lies FILE.lock, as long as it is kept. A process that is
    killed leaves it behind, but no longer locked: the next one takes it.

    Args:
        path: The file that will be written, and may not be there yet.
        timeout: Seconds to wait for another process that keeps it.

    Raises:
        BlockingIOError: Another process still keeps it.
        OSError: No file can be made there.
    """
    target = _target_of(path)
    place = Path(f"{target}.lock")
    if not target.parent.is_dir():
        raise FileNotFoundError(f"{path}: there is no folder {target.parent}")
    held = FileLock(place)
    try:
        held.acquire(timeout)
    except Timeout:
        raise BlockingIOError(
            f"{path}: is being written by another process"
        ) from None
    except OSError as error:
        raise OSError(f"{path}: could not be locked: {error}") from None
    try:
        _remove_parts(target)
        yield
    finally:
        with suppress(OSError):
            place.unlink()  # still locked: who waits for it makes another
        held.release()
