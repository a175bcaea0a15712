# Made from docs/source/cli.md (18941a0ba1cd). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
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
_Result = dict[str, Any]  # kind, id of the exercise, and what is to be said


def _run(name: str, text: str, file: str, given: dict[str, Any]) -> Any:
    """Run a text as a module that has the given names; return the module."""
    module = types.ModuleType(name)
    module.__file__ = file
    module.__dict__.update(given)
    sys.modules[name] = module
    exec(compile(text, file, "exec", dont_inherit=True), module.__dict__)
    return module


def _try(file: str, exercises: list[tuple[str, list[str], str]]) -> _Result:
    """Run the file, then the check of each exercise; return what it came to.

    A check is given the names of its exercise and of those before it.
    """
    given: dict[str, Any] = {}
    result: _Result = {"kind": "passed"}
    try:
        text = Path(file).read_text("utf-8-sig")
        found = vars(_run("exercise", text, file, {}))
        for exercise_id, names, check in exercises:
            result["id"] = exercise_id
            for name in names:
                if name not in found:
                    return {**result, "kind": "missing", "name": name}
                given[name] = found[name]
            _run("check", check, _CHECK, given)
    except BaseException as error:
        return result | _describe(error, file)
    return result


def _describe(error: BaseException, file: str) -> _Result:
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
