# Made from docs/source/cli.md (e1e20af930db). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
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


@cache
def _load_exercises() -> dict[str, Any]:
    """Read all exercises, by their ids."""
    return json.loads(_EXERCISES.read_text("utf-8"))


def _find_language() -> str:
    """Return the language of the locale: zh for Chinese, en for all others."""
    names = ("LC_ALL", "LC_MESSAGES", "LANG")
    values = [os.environ.get(name) for name in names]
    values.append(locale.getlocale()[0])  # where there are no such variables
    first = next(filter(None, values), "")
    return "zh" if first.lower().startswith(("zh", "chinese")) else "en"


_Language = Annotated[
    Literal["zh", "en"],
    Option(
        default_factory=_find_language,
        help="The language to speak.",
        show_default="that of the locale",
    ),
]


def _pick(language: str, text: str) -> str:
    """Take one side of `中文 | English`; a text without a bar as it is."""
    chinese, bar, english = text.partition(" | ")
    return english if bar and language == "en" else chinese


def _refuse(language: str, words: str, **values: object) -> NoReturn:
    """Say in one line how the command is used wrongly; the status is 2."""
    print_error(_pick(language, words).format(**values))
    raise typer.Exit(2)


def _find(exercise_id: str, language: str) -> dict[str, Any]:
    """Return the exercise of this id, or refuse and name those near it."""
    exercises = _load_exercises()
    if exercise_id not in exercises:
        near = difflib.get_close_matches(exercise_id, exercises, cutoff=0)
        wrong = "没有练习 {id}，相近的有 {near} | "
        wrong += "there is no exercise {id}; near it are {near}"
        _refuse(language, wrong, id=exercise_id, near=", ".join(near))
    return exercises[exercise_id]


def _wrap(text: str) -> list[str]:
    """Break paragraphs into lines, none of which begins with a comma."""
    lines = [""]
    latin = r"[^\s\u2e80-\uffef“”]+"
    unit = rf"\n|[“（《]*(?:{latin}|\S)[，。；：？！、）》”]*|[^\S\n]+"
    for piece in re.findall(unit, text):
        if piece == "\n" or cell_len(lines[-1] + piece.rstrip()) > _WIDTH:
            lines.append("")
        lines[-1] += piece if lines[-1] else piece.lstrip()
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
    hint: Annotated[bool, Option("--hint", help="Print a hint.")] = False,
    into: Annotated[
        Path | None, Option(help="Add the exercise to the end of this file.")
    ] = None,
    *,
    language: _Language,
) -> None:
    """List exercises, or print one: exercise by-hand-2 > ex.py."""
    if exercise_id and hint:
        found = _find(exercise_id, language)
        if "hint" not in found:
            none = "练习 {id} 没有提示 | exercise {id} has no hint"
            _refuse(language, none, id=exercise_id)
        typer.echo("\n".join(_wrap(found["hint"][language])))
    elif exercise_id and into:
        _add(exercise_id, into, language)
    elif exercise_id:
        typer.echo(_render(exercise_id, language), nl=False)
    elif hint or into:
        _refuse(language, "哪一道练习？ | which exercise?")
    else:
        _list_all(language)


def _render(exercise_id: str, language: str) -> str:
    """Return the task of an exercise, as a comment, and its stub."""
    found = _find(exercise_id, language)
    head = f"练习 {exercise_id}， | Exercise {exercise_id}: "
    lines = [_pick(language, head) + found["title"][language]]
    lines += _wrap(found["task"][language])
    then = "写好以后运行 attention-book check 文件名 | "
    then += "When it is written, run: attention-book check FILE"
    lines += ["", _pick(language, then)]
    comment = [f"# {line}".rstrip() for line in lines]
    return "\n".join([_MARKER + exercise_id, *comment, "", *found["stub"], ""])


def _add(exercise_id: str, file: Path, language: str) -> None:
    """Add an exercise to the end of a file; what stands there, stays."""
    text = _render(exercise_id, language)
    ids = _read_ids(file, language) if file.exists() else []
    if exercise_id in ids:
        there = "{file} 里已经有 {id} | {file} has {id} already"
        _refuse(language, there, file=file, id=exercise_id)
    step = _find(exercise_id, language).get("after")
    if step and step not in ids:
        first = "{id} 接着 {step} 写，{file} 里还没有 {step} | "
        first += "{id} builds on {step}, which {file} does not have"
        _refuse(language, first, file=file, id=exercise_id, step=step)
    with file.open("a", encoding="utf-8") as end:
        end.write(f"\n\n{text}" if ids else text)
    line = file.read_text("utf-8-sig").count("\n") - text.count("\n") + 1
    added = "{id} 加进了 {file}，从第 {line} 行开始 | "
    added += "{id} is in {file}, from line {line} on"
    values = {"file": file, "id": exercise_id, "line": line}
    typer.echo(_pick(language, added).format(**values))


def _list_all(language: str) -> None:
    """Print the title of every exercise, by chapters."""
    chapter = ""
    for name, found in _load_exercises().items():
        if chapter != (chapter := found["chapter"][language]):
            number = found["chapter"]["number"]
            typer.echo(f"{number:>2} {chapter}" if number != "" else chapter)
        typer.echo(f"   {name}  {found['title'][language]}")


def _read_ids(file: Path, language: str) -> list[str]:
    """Return the ids in a reader's file, if it can be run."""
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
    ids = re.findall(rf"(?m)^{_MARKER}(\S+)\s*$", text)
    if not ids:
        wrong = "{file}：第一行要写明是哪一道练习，比如 {marker}by-hand-2 | "
        wrong += (
            "{file}: its first line must name the exercise: {marker}by-hand-2"
        )
        _refuse(language, wrong, file=file, marker=_MARKER)
    return list(dict.fromkeys(ids))


def _try(file: Path, found: dict[str, Any]) -> dict[str, Any]:
    """Run a reader's file and checks in a process; return the result.

    found are the exercises by their ids.
    """
    with tempfile.TemporaryDirectory() as folder:
        result = Path(folder, "result.json")
        job: dict[str, Any] = {
            "file": str(file.absolute()),
            "exercises": [
                (name, each["names"], "\n".join(each["check"]))
                for name, each in found.items()
            ],
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
    *,
    language: _Language,
) -> None:
    """Check a written exercise, without showing its answer."""
    found = {name: _find(name, language) for name in _read_ids(file, language)}
    result = {"id": list(found)[-1], **_try(file, found)}
    if result["kind"] == "failed":  # a message of the check has both sides
        result["text"] = _pick(language, result["text"])
    answer = _pick(language, _RESULTS[result["kind"]])
    typer.echo(answer.format(file=file, **result))
    last = result["id"]
    if result["kind"] != "passed":
        if "hint" in found[last]:
            command = f"attention-book exercise {last} --hint"
            typer.echo(_pick(language, "提示： | A hint: ") + command)
        raise typer.Exit(1)
    for name, other in _load_exercises().items():
        if other.get("after") == last:
            command = f"attention-book exercise {name} --into {file}"
            typer.echo(_pick(language, "下一道： | Next: ") + command)
