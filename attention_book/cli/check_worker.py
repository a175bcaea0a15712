# Made from docs/source/cli.md (674d47ed3dd8). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""Run a reader's file and the check of its exercise. A process of its own.

Explained in the chapter "The command line".
"""

import contextlib
import gc
import json
import os
import sys
import traceback
import types
from pathlib import Path
from typing import Any


__all__ = ["main"]


_CHECK = "<check>"


def _run(name: str, text: str, file: str, given: dict[str, Any]) -> Any:
    """Run a text as a module that has the given names; return the module."""
    module = types.ModuleType(name)
    module.__file__ = file
    module.__dict__.update(given)
    sys.modules[name] = module
    exec(compile(text, file, "exec", dont_inherit=True), module.__dict__)
    return module


def _try(job: dict[str, Any]) -> dict[str, Any]:
    """Run the file, then the check; return what became of it."""
    try:
        gc.disable()  # while PyTorch is imported
        found = vars(_run("exercise", job["text"], job["file"], {}))
        gc.freeze()
        gc.enable()
        for name in job["names"]:
            if name not in found:
                return {"kind": "missing", "name": name}
        given = {name: found[name] for name in job["names"]}
        _run("check", job["check"], _CHECK, given)
    except BaseException as error:
        return _describe(error, job["file"])
    return {"kind": "passed"}


def _describe(error: BaseException, file: str) -> dict[str, Any]:
    """Say what went wrong, and on which line of the reader's file."""
    whole = traceback.extract_tb(error.__traceback__)
    calls = [call for call in whole if call.filename in (file, _CHECK)]
    try:
        message = " ".join(str(error).split())
    except Exception as another:  # by the reader's own class
        message = f"its text raises {type(another).__name__}"
    at_check = bool(calls) and calls[-1].filename == _CHECK
    if isinstance(error, AssertionError) and at_check:
        return {"kind": "failed", "text": message}
    lines = [call.lineno for call in calls if call.filename == file]
    text = f"{type(error).__name__}: {message}".removesuffix(": ")[:500]
    if not lines:
        return {"kind": "check", "text": text}
    kind = "raised"
    if isinstance(error, NotImplementedError):
        kind = "unwritten"
    elif isinstance(error, SystemExit):
        kind = "exit"
    return {"kind": kind, "line": lines[-1], "text": text}


def main() -> None:
    """Read the job, do it, write the result, and end whatever still runs."""
    job = json.loads(Path(sys.argv[1]).read_text("utf-8"))
    sys.path.insert(0, str(Path(job["file"]).parent))
    place = Path(sys.argv[2])
    sys.argv[:] = [job["file"]]
    place.write_text(json.dumps(_try(job)), "utf-8")
    with contextlib.suppress(Exception):
        sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
