# Made from docs/source/cli.md (632c726ec45e). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""The command: what must be set before anything large is imported.

Explained in the chapter "The command line".
"""

import atexit
import contextlib
import gc
import io
import os
import signal
import sys
import threading


def main() -> None:
    """Run the command, and end the process with its exit status."""
    catches = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if catches:  # what runs in the background may ignore it
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # ends it at once
    gc.disable()  # imports make next to no garbage
    _open_streams()
    from attention_book.cli.app import main as run

    def ready() -> None:
        gc.freeze()
        gc.enable()
        if catches:
            signal.signal(signal.SIGINT, signal.default_int_handler)

    status: object = 0
    try:
        run(ready)
    except SystemExit as ended:
        status = ended.code
    _leave(status)


def _open_streams() -> None:
    """Make standard output and error fit for any text.

    A stream that was closed gives an error when it is used, and no other
    file can take its number.
    """
    for number, flags in enumerate((os.O_WRONLY, os.O_RDONLY, os.O_RDWR)):
        try:
            os.fstat(number)
        except OSError:
            os.set_inheritable(os.open(os.devnull, flags), True)
    sys.stdin = sys.stdin or os.fdopen(0)
    sys.stdout = sys.stdout or os.fdopen(1, "w")
    sys.stderr = sys.stderr or os.fdopen(2, "w")
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            own = stream.isatty() and "译".encode(stream.encoding, "ignore")
            encoding = stream.encoding if own else "utf-8"
            stream.reconfigure(encoding=encoding, errors="backslashreplace")


def _leave(status: object) -> None:
    """End the process, without taking PyTorch apart first if it is idle."""
    with contextlib.suppress(OSError):
        sys.stdout.flush()
    if threading.active_count() > 1:
        sys.exit(status)  # type: ignore[arg-type]
    atexit._run_exitfuncs()
    os._exit(int(str(status or 0)))


if __name__ == "__main__":
    main()
