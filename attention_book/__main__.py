# Made from docs/source/cli.md (e99b89c41f53). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""The command: what must be set before anything large is imported."""

import atexit
import contextlib
import gc
import io
import os
import signal
import sys
import threading
from collections.abc import Iterator
from typing import Any


def main() -> None:
    """Run the command, and end the process with its exit status."""
    catches = signal.getsignal(signal.SIGINT) is signal.default_int_handler

    def on_interrupt(handler: Any) -> None:
        if catches:  # what runs in the background may ignore it
            signal.signal(signal.SIGINT, handler)

    def ready() -> None:
        gc.freeze()
        gc.enable()
        on_interrupt(signal.default_int_handler)

    on_interrupt(_quit)
    gc.disable()  # imports make next to no garbage
    _open_streams()
    from attention_book.cli.app import main as run

    status: object = 0
    try:
        run(ready)
    except SystemExit as ended:
        status = ended.code
    on_interrupt(_quit)
    _leave(status)


def _quit(*_: object) -> None:
    """End at once: while modules are imported there is nothing to tidy up."""
    os._exit(130)


class _Output(io.TextIOWrapper):
    """Standard output or error; its errors say which of them it is."""

    def __init__(self, number: int, title: str) -> None:
        # not in Python, where Ctrl-C could come between writing and counting
        raw = io.FileIO(number, "w", closefd=False)
        super().__init__(io.BufferedWriter(raw), "utf-8", "backslashreplace")
        self.title = title

    def write(self, text: str) -> int:
        """Write into the buffer."""
        with self._named_errors():
            return super().write(text)

    def flush(self) -> None:
        """Write what the buffer holds."""
        with self._named_errors():
            super().flush()

    @contextlib.contextmanager
    def _named_errors(self) -> Iterator[None]:
        """Name the stream; end quietly if the reader has left, as of head."""
        try:
            yield
        except BrokenPipeError:
            raise SystemExit(141) from None
        except OSError as error:
            raise OSError(error.errno, error.strerror, self.title) from None


def _open_streams() -> None:
    """Make standard input, output and error fit for any text.

    One that was closed gives an error when it is used, and no other file can
    take its number.
    """
    for number, flags in enumerate((os.O_WRONLY, os.O_RDONLY, os.O_RDWR)):
        try:
            os.fstat(number)
        except OSError:
            os.set_inheritable(os.open(os.devnull, flags), True)
    if sys.stdin is None:
        closed = io.BufferedReader(io.FileIO(0, closefd=False))
        sys.stdin = io.TextIOWrapper(closed)
    sys.stdout = _open_output(sys.stdout, 1, "standard output")
    sys.stderr = _open_output(sys.stderr, 2, "standard error")


def _open_output(stream: object, number: int, title: str) -> io.TextIOWrapper:
    """Return a stream in UTF-8, or in a terminal's own way of Chinese."""
    if isinstance(stream, io.TextIOWrapper) and stream.isatty():
        try:
            "译".encode(stream.encoding)
            stream.reconfigure(errors="backslashreplace")
        except UnicodeEncodeError:
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
        return stream
    return _Output(number, title)


def _leave(status: Any) -> None:
    """End the process, without taking PyTorch apart first if it is idle."""
    with contextlib.suppress(OSError, SystemExit):
        sys.stdout.flush()
    if threading.active_count() > 1:
        sys.exit(status)
    atexit._run_exitfuncs()
    os._exit(int(str(status or 0)))


if __name__ == "__main__":
    main()
