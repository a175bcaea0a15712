# Made from docs/source/cli.md (ce6e57b0774c). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""Commands exercise and check. Explained on the page "The command line"."""

import contextlib
import difflib
import json
import locale
import os
import re
import signal
import subprocess
import sys
import tempfile
import warnings
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal, NoReturn

import typer
from rich.cells import cell_len
from typer import Argument, Option

from attention_book.cli.app import app, print_error


__all__ = []


_EXERCISES = Path(__file__).parent.with_name("exercises.json")
_WORKER = Path(__file__).with_name("check_worker.py")
_MARKER = "# attention-book exercise "  # begins the first line of a file
_WIDTH = 77  # columns of a comment
_TIME_LIMIT = 60  # seconds
_Language = Annotated[
    Literal["zh", "en"] | None,
    Option(help="The language to speak.", show_default="that of the locale"),
]


@cache
def _load_exercises() -> dict[str, Any]:
    """Read all exercises, by their ids."""
    return json.loads(_EXERCISES.read_text("utf-8"))


def _here() -> str:
    """Return the language of the locale: zh for Chinese, en for all others."""
    names = ("LC_ALL", "LC_MESSAGES", "LANG")
    values = [os.environ.get(name) for name in names]
    values.append(locale.getlocale()[0])  # where there are no such variables
    first = next(filter(None, values), "")
    return "zh" if first.lower().startswith(("zh", "chinese")) else "en"


def _pick(language: str | None, text: str) -> str:
    """Take one side of `中文 | English`; a text without a bar as it is."""
    chinese, bar, english = text.partition(" | ")
    return english if bar and (language or _here()) == "en" else chinese


def _localize(language: str | None, words: str, /, **values: object) -> str:
    """Take one side of `中文 | English`, and fill in the values."""
    return _pick(language, words).format(**values)


def _refuse(language: str | None, words: str, /, **values: object) -> NoReturn:
    """Say in one line how the command is used wrongly; the status is 2."""
    print_error(_localize(language, words, **values))
    raise typer.Exit(2)


def _find(exercise_id: str, language: str | None) -> dict[str, Any]:
    """Return the exercise of this id, or refuse and name those near it."""
    exercises = _load_exercises()
    if exercise_id not in exercises:
        near = difflib.get_close_matches(exercise_id, exercises, cutoff=0)
        _refuse(
            language,
            "没有练习 {wrong}，相近的有 {near} | "
            "there is no exercise {wrong}; near it are {near}",
            wrong=exercise_id,
            near=", ".join(near),
        )
    return exercises[exercise_id]


def _wrap(text: str) -> list[str]:
    """Break a paragraph into lines, none of which begins with a comma."""
    lines = [""]
    latin = r"[^\s\u2e80-\uffef“”]+"
    for unit in re.findall(
        rf"[“（《]*(?:{latin}|\S)[，。；：？！、）》”]*|\s+", text
    ):
        if cell_len(lines[-1] + unit.rstrip()) > _WIDTH:
            lines.append("")
        lines[-1] += unit if lines[-1] else unit.lstrip()
    return [line.rstrip() for line in lines]


def _ids(incomplete: str) -> list[str]:
    """Return the ids that begin like this."""
    return [name for name in _load_exercises() if name.startswith(incomplete)]


@app.command("exercise")
def _exercise(
    exercise_id: Annotated[
        str | None,
        Argument(
            metavar="ID",
            help="Such as by-hand-2.",
            show_default="list all",
            autocompletion=_ids,
        ),
    ] = None,
    language: _Language = None,
) -> None:
    """List exercises, or print one: exercise by-hand-2 > ex.py."""
    side = language or _here()
    if exercise_id:
        found = _find(exercise_id, language)
        head = "练习 {id}，{title} | Exercise {id}: {title}"
        title = found["title"][side]
        lines = [_localize(language, head, id=exercise_id, title=title)]
        for paragraph in found["task"][side].split("\n"):
            lines += _wrap(paragraph) if paragraph else [""]
        then = "写好以后运行 attention-book check 文件名 | "
        then += "When it is written, run: attention-book check FILE"
        lines += ["", _localize(language, then)]
        comment = [f"# {line}".rstrip() for line in lines]
        text = [_MARKER + exercise_id, *comment, "", *found["stub"], ""]
        typer.echo("\n".join(text), nl=False)
        return
    chapter = ""
    for name, found in _load_exercises().items():
        if chapter != (chapter := found["chapter"][side]):
            number = found["chapter"]["number"]
            typer.echo(f"{number:>2} {chapter}" if number != "" else chapter)
        typer.echo(f"   {name}  {found['title'][side]}")


def _read_id(file: Path, language: str | None) -> str:
    """Return the id in a reader's file, if it can be run."""
    try:
        if file.exists() and not file.is_file():
            raise OSError("wanted a file, got a folder, device or pipe")
        text = file.read_text("utf-8-sig")
        with warnings.catch_warnings(action="ignore"):
            compile(text, str(file), "exec")
    except OSError as error:
        wrong = "{file}：读不了，{why} | {file}: cannot be read: {why}"
        _refuse(language, wrong, file=file, why=error.strerror or error)
    except (ValueError, RecursionError, MemoryError) as error:
        wrong = "{file}：不是 Python 程序，{why} | {file}: is no Python: {why}"
        _refuse(language, wrong, file=file, why=error)
    except SyntaxError as error:
        wrong = "{file} 第 {line} 行有语法错误：{why} | "
        wrong += "{file}, line {line}: a syntax error: {why}"
        _refuse(language, wrong, file=file, line=error.lineno, why=error.msg)
    marker = re.search(rf"(?m)^{_MARKER}(\S+)\s*$", text)
    if not marker:
        wrong = "{file}：第一行要写明是哪一道练习，比如 {marker}by-hand-2 | "
        wrong += (
            "{file}: its first line must name the exercise: {marker}by-hand-2"
        )
        _refuse(language, wrong, file=file, marker=_MARKER)
    return marker[1]


def _try(file: Path, found: dict[str, Any]) -> dict[str, Any]:
    """Run a reader's file and its check in a process; return the result."""
    with tempfile.TemporaryDirectory() as folder:
        result = Path(folder, "result.json")
        job = {
            "file": str(file.absolute()),
            "names": found["names"],
            "check": "\n".join(found["check"]),
            "result": str(result),
            "limit": _TIME_LIMIT,
        }
        with subprocess.Popen(
            [sys.executable, "-u", "-P", _WORKER],
            stdin=subprocess.PIPE,
            process_group=0,
            text=True,
        ) as worker:
            try:  # the pipe stays open for as long as we live
                print(json.dumps(job), file=worker.stdin, flush=True)
                worker.wait()
            finally:  # after Ctrl-C too; and with all that it has started
                _kill(worker)
        if result.exists():
            return json.loads(result.read_text("utf-8"))
        late = result.with_suffix(".late").read_text("utf-8")
        line = re.search(f'File "{re.escape(job["file"])}", line (\\d+)', late)
        if late:
            where = line[1] if line else "?"
            return {"kind": "late", "limit": _TIME_LIMIT, "line": where}
        return {"kind": "ended", "status": worker.returncode}


def _kill(worker: subprocess.Popen[str]) -> None:
    """End a process and, where there are process groups, all of its group."""
    with contextlib.suppress(OSError):  # nobody is left
        if sys.platform == "win32":
            worker.kill()
        else:
            os.killpg(worker.pid, signal.SIGKILL)
    worker.wait()


_RESULTS = {
    "passed": "练习 {id} 通过 | Exercise {id} passed",
    "failed": "练习 {id} 没有通过：{text} | Exercise {id} failed: {text}",
    "missing": "练习 {id} 没有通过：{file} 里没有 {name}，请用这个名字 | "
    "Exercise {id} failed: {file} does not define {name}; use that name",
    "unwritten": "练习 {id} 没有写完：{file} 第 {line} 行 | "
    "Exercise {id} is not written: {file}, line {line}",
    "raised": "练习 {id} 没有通过：{file} 第 {line} 行，{text} | "
    "Exercise {id} failed: {file}, line {line}: {text}",
    "check": "练习 {id} 没有通过：检查用到它的时候出错，{text} | "
    "Exercise {id} failed where the check uses it: {text}",
    "late": "练习 {id} 没有通过：{limit} 秒还没有算完，停在 {file} 第 {line} 行 | "
    "Exercise {id} failed: it was not done after {limit} seconds, "
    "but at {file}, line {line}",
    "ended": "练习 {id} 没有通过：程序中途退出，退出状态 {status} | "
    "Exercise {id} failed: the program ended early, with status {status}",
}


@app.command("check")
def _check(
    file: Annotated[Path, Argument(help="What exercise printed, written.")],
    language: _Language = None,
) -> None:
    """Check a written exercise, without showing its answer."""
    exercise_id = _read_id(file, language)
    result = _try(file, _find(exercise_id, language))
    if result["kind"] == "failed":  # a message of the check has both sides
        result["text"] = _pick(language, result["text"])
    words = _RESULTS[result["kind"]]
    typer.echo(_localize(language, words, id=exercise_id, file=file, **result))
    raise typer.Exit(int(result["kind"] != "passed"))
