# Made from docs/source/cli.md (b50723270ed9). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""The command: what must be set before anything large is imported.

Explained on the page "The command line".
"""

import gc
import io
import os
import signal
import sys


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

    run(ready)


def _open_streams() -> None:
    """Make standard output and error fit for any text, or for none."""
    while (spare := os.open(os.devnull, os.O_RDWR)) < 3:
        pass  # or a checkpoint might get the number of a closed stream
    os.close(spare)
    sys.stdin = sys.stdin or os.fdopen(0)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            own = stream.isatty() and "译".encode(stream.encoding, "ignore")
            encoding = stream.encoding if own else "utf-8"
            stream.reconfigure(encoding=encoding, errors="backslashreplace")


if __name__ == "__main__":
    main()
