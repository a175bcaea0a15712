# Made from docs/source/cli.md (d24a31fc31a7). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""Run a reader's file and the check of its exercise. A process of its own.

Explained on the page "The command line".
"""

import faulthandler
import json
import os
import signal
import sys
import threading
import traceback
import types
from pathlib import Path
from typing import Any


__all__ = []


_CHECK = "<check>"


def _run(name: str, text: str, file: str, given: dict[str, Any]) -> Any:
    """Run a text as a module that has the given names; return the module."""
    module = types.ModuleType(name)
    module.__file__ = file
    module.__dict__.update(given)
    sys.modules[name] = module
    exec(compile(text, file, "exec", dont_inherit=True), module.__dict__)
    return module


def _try(file: str, names: list[str], check: str) -> dict[str, Any]:
    """Run the file, then the check; return what became of it."""
    try:
        text = Path(file).read_text("utf-8-sig")
        found = vars(_run("exercise", text, file, {}))
        for name in names:
            if name not in found:
                return {"kind": "missing", "name": name}
        _run("check", check, _CHECK, {name: found[name] for name in names})
    except BaseException as error:
        return _describe(error, file)
    return {"kind": "passed"}


def _describe(error: BaseException, file: str) -> dict[str, Any]:
    """Say what went wrong, and on which line of the reader's file."""
    whole = traceback.extract_tb(error.__traceback__)
    calls = [call for call in whole if call.filename in (file, _CHECK)]
    message = " ".join(str(error).split())
    at_check = bool(calls) and calls[-1].filename == _CHECK
    if isinstance(error, AssertionError) and at_check:
        return {"kind": "failed", "text": message}
    lines = [call.lineno for call in calls if call.filename == file]
    text = f"{type(error).__name__}: {message}".removesuffix(": ")
    if not lines:
        return {"kind": "check", "text": text}
    is_unwritten = isinstance(error, NotImplementedError)
    kind = "unwritten" if is_unwritten else "raised"
    return {"kind": kind, "line": lines[-1], "text": text}


def _end_with(parent: int) -> None:
    """End, with all that was started, when the parent's pipe is closed."""
    os.read(parent, 1)
    if sys.platform != "win32":
        os.killpg(0, signal.SIGKILL)
    os._exit(1)


def _main() -> None:
    """Read the job, do it, write the result, and end whatever still runs.

    However the parent ends, its pipe does too, and so does the reader's code.
    Where that code goes on for too long, is written beside the result.
    """
    job = json.loads(sys.stdin.readline())
    parent = os.dup(0)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    threading.Thread(target=_end_with, args=[parent], daemon=True).start()
    place = Path(job.pop("result"))
    with place.with_suffix(".late").open("w", encoding="utf-8") as late:
        limit = job.pop("limit")
        faulthandler.dump_traceback_later(limit, file=late, exit=True)
        sys.argv[:] = [job["file"]]
        sys.path.insert(0, str(Path(job["file"]).parent))
        place.write_text(json.dumps(_try(**job)), "utf-8")
        os._exit(0)


if __name__ == "__main__":
    _main()
