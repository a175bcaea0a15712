"""`attention-book exercise` and `check`, as processes of their own."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from rich.cells import cell_len
from typer.testing import CliRunner, Result

from attention_book.cli import exercise
from attention_book.cli.app import app
from literate.chapter import ROOT, read_all


pytestmark = pytest.mark.slow  # starts processes
EXERCISE = "by-hand-2"
RIGHT = """
    scores = Q @ K.T
    future = torch.ones_like(scores).triu(1).bool()
    return scores.masked_fill(future, -torch.inf).softmax(dim=1) @ V"""
Check = Callable[..., tuple[int, str]]
# Small, because torch takes a second or two to import.
PEEL = {
    "chapter": {"number": 2, "zh": "苹果", "en": "Apples"},
    "title": {"zh": "削皮", "en": "peel it"},
    "task": {"zh": "减一，\n\n也就是 $n - 1$。", "en": "Take one off."},
    "names": ["peel"],
    "stub": [
        "def peel(n):",
        '    """Less."""',
        "    raise NotImplementedError",
    ],
    "check": [
        "found = peel(3)",
        'assert found != 4, f"{{加了}} {found} | {{more}} {found}"',
        'assert found + 1 == 3, "3 减 1 是 2 | 3 less 1 is 2"',
    ],
}

# A step that builds on it.
PEEL_TWICE = PEEL | {
    "title": {"zh": "再削 ★★", "en": "peel again ★★"},
    "after": "quince-1",
    "hint": {"zh": "削两次。\n\n真的。", "en": "Peel twice.\n\nReally."},
    "names": ["peel_twice"],
    "stub": [
        "def peel_twice(n):",
        '    """Less and less."""',
        "    return peel(n)  # a bug",
    ],
    "check": [
        "found = peel_twice(3)",
        'assert found < peel(3), f"还有 {found} | {found} are left"',
    ],
}

# The command with the exercises of a folder; all else is as a reader has it.
OF_SMALL = """
import sys
from pathlib import Path
from attention_book.__main__ import main
from attention_book.cli import exercise
exercise._EXERCISES = Path(sys.argv.pop(1), "exercises.json")
main()
"""


def invoke(*arguments: str) -> Result:
    return CliRunner().invoke(app, arguments)


@pytest.fixture
def ex(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A file as a reader has it before writing, of a small exercise."""
    book = tmp_path / "exercises.json"
    names = ("apple-1", "apple-2", "pear-2", "quince-1")
    found = dict.fromkeys(names, PEEL) | {"quince-2": PEEL_TWICE}
    book.write_text(json.dumps(found), "utf-8")
    monkeypatch.setattr(exercise, "_EXERCISES", book)
    exercise._load_exercises.cache_clear()
    file = tmp_path / "ex.py"
    file.write_bytes(invoke("exercise", "apple-1").stdout_bytes)
    yield file
    exercise._load_exercises.cache_clear()


def write(file: Path, code: str) -> int:
    """Put code in the place of the stub's; return its first line's number."""
    text = file.read_text("utf-8")
    before, _ = text.split("    raise NotImplementedError")
    file.write_text(before + code.lstrip("\n") + "\n", "utf-8")
    return before.count("\n") + 1


@pytest.fixture
def check(ex: Path, capfd: pytest.CaptureFixture[str]) -> Check:
    """Check the file: the status, and all that is said in the order it was."""

    def run_and_read(language: str = "en") -> tuple[int, str]:
        found = invoke("check", str(ex), "--language", language)
        passed_on, errors = capfd.readouterr()
        assert "Traceback" not in found.output + errors, found.output + errors
        output = found.output.replace(str(ex), "ex.py")
        return found.exit_code, passed_on + output

    return run_and_read


def test_every_exercise_of_the_book_is_listed() -> None:
    said = invoke("exercise", "--language", "en").output
    for chapter in read_all():
        for one in chapter.exercises:
            assert f"   {one.id}  {one.title[1]}\n" in said
    assert "\n 3 Self-attention by hand\n" in f"\n{said}"
    chinese = invoke("exercise", "--language", "zh").output
    assert " 3 手算自注意力\n" in chinese
    assert len(chinese.splitlines()) == len(said.splitlines())


@pytest.mark.parametrize(
    ("words", "completed"),
    [
        ("attention-book tr", ["translate", "train"]),
        ("attention-book train --learning", ["--learning-rate"]),
        ("attention-book exercise by-hand-", ["by-hand-1", "by-hand-2"]),
    ],
)
def test_the_shell_completes_commands_options_and_exercises(
    words: str, completed: list[str]
) -> None:
    found = subprocess.run(
        [sys.executable, "-m", "attention_book"],
        env={
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "_ATTENTION_BOOK_COMPLETE": "complete_bash",
            "COMP_WORDS": words,
            "COMP_CWORD": str(words.count(" ")),
        },
        capture_output=True,
        check=True,
        text=True,
    )
    assert found.stdout.split()[: len(completed)] == completed


@pytest.mark.parametrize("language", ["zh", "en"])
def test_every_printed_exercise_is_python_of_narrow_lines(
    language: str,
) -> None:
    names = json.loads((ROOT / "attention_book/exercises.json").read_bytes())
    for name in names:
        found = invoke("exercise", name, "--language", language)
        assert found.exit_code == 0
        compile(found.output, "ex.py", "exec")
        for line in found.output.splitlines():
            assert cell_len(line) <= 79 or " " not in line[2:]
            assert not re.match("# [，。；：？！、）》”]", line)


@pytest.mark.parametrize(
    ("variables", "name", "chinese"),
    [
        ({"LC_ALL": "zh_CN.UTF-8"}, None, True),
        ({"LC_ALL": "", "LANG": "zh_TW.UTF-8"}, None, True),
        ({"LC_MESSAGES": "en_GB.UTF-8", "LANG": "zh_CN"}, None, False),
        ({}, "Chinese (Simplified)_China", True),
        ({}, None, False),
    ],
)
def test_the_language_is_that_of_the_locale(
    variables: dict[str, str],
    name: str | None,
    chinese: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for variable in ("LC_ALL", "LC_MESSAGES", "LANG"):
        monkeypatch.setenv(variable, variables.get(variable, ""))
    monkeypatch.setattr(exercise.locale, "getlocale", lambda: (name, None))
    said = invoke("exercise", EXERCISE).output
    assert ("练习 by-hand-2，只看过去" in said) == chinese
    assert ("没有练习 99-9" in invoke("exercise", "99-9").output) == chinese


def test_an_exercise_of_the_book_in_a_terminal(tmp_path: Path) -> None:
    def run(*arguments: str) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            [sys.executable, "-m", "attention_book", *arguments],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(ROOT), "LC_ALL": "C.UTF-8"},
            capture_output=True,
            check=False,
            timeout=300,
        )

    printed = run("exercise", EXERCISE).stdout.decode()
    first, second, *_ = printed.splitlines()
    assert first == f"# attention-book exercise {EXERCISE}"
    assert second == f"# Exercise {EXERCISE}: only the past"
    assert printed.endswith("    raise NotImplementedError\n")
    file = tmp_path / "ex.py"
    file.write_text(printed, "utf-8")
    write(file, '\n    print("a line of my own")' + RIGHT)
    found = run("check", "ex.py", "--language", "zh")
    *own, last = found.stdout.decode().splitlines()
    assert set(own) == {"a line of my own"}
    assert last == "练习 by-hand-2 通过"
    assert (found.returncode, found.stderr) == (0, b"")


def test_code_is_told_whether_it_is_right(ex: Path, check: Check) -> None:
    status, said = check("zh")
    assert (status, said[:20]) == (1, "练习 apple-1 没有写完：ex.p")
    write(ex, '\n    print("mine")\n    return n - 1')
    ex.write_text("\ufeff" + ex.read_text("utf-8"), "utf-8")
    assert check() == (0, "mine\nExercise apple-1 passed\n")
    text = ex.read_text("utf-8")
    ex.write_text(text.replace("n - 1", "n - 2"), "utf-8")
    assert check("zh") == (1, "mine\n练习 apple-1 没有通过：3 减 1 是 2\n")
    ex.write_text(text.replace("n - 1", "n + 1"), "utf-8")
    assert check() == (1, "mine\nExercise apple-1 failed: {more} 4\n")


@pytest.mark.parametrize(
    ("code", "says"),
    [
        ("return n.x", "line {}: AttributeError: 'int' object has no attr"),
        ('raise ValueError("a\\n  {} c")', "line {}: ValueError: a {{}} c\n"),
        ('assert n < 0, "mine | own"', "line {}: AssertionError: mine | own"),
        ("raise SystemExit(0)", "line {}: SystemExit: 0\n"),
        ("return input()", "line {}: EOFError"),
        ("n = 1; raise NotImplementedError", "is not written: ex.py, line {}"),
        ("import os; os._exit(7)", "the program ended early, with status 7"),
        ("return None", "failed where the check uses it: TypeError: uns"),
    ],
)
def test_what_goes_wrong_is_one_line(
    ex: Path, check: Check, code: str, says: str
) -> None:
    line = write(ex, f"    {code}")
    status, said = check()
    assert status == 1
    assert said.count("\n") == 1, said
    assert says.format(line) in said


def test_a_file_grows_by_steps_that_are_all_checked(
    ex: Path, check: Check
) -> None:
    ex.write_bytes(invoke("exercise", "quince-1").stdout_bytes)
    write(ex, "    return n - 1")
    following = "attention-book exercise quince-2 --into ex.py"
    assert check() == (
        0,
        f"Exercise quince-1 passed\nNext: {following}\n",
    )
    assert check("zh")[1].endswith(f"下一道：{following}\n")
    before = ex.read_text("utf-8")
    into = ["--into", str(ex), "--language", "en"]
    said = invoke("exercise", "quince-2", *into).output
    after = ex.read_text("utf-8")
    assert after.startswith(
        f"{before}\n\n# attention-book exercise quince-2\n"
    )
    line = before.count("\n") + 3
    assert said == f"quince-2 is in {ex}, from line {line} on\n"
    assert after.splitlines()[line - 1].startswith("# attention-book")

    hint = "A hint: attention-book exercise quince-2 --hint"
    failed = f"Exercise quince-2 failed: 2 are left\n{hint}\n"
    assert check() == (1, failed)
    assert "提示：attention-book exercise quince-2 --hint" in check("zh")[1]
    ex.write_text(after.replace("return peel(n)", "return peel(peel(n))"))
    assert check() == (0, "Exercise quince-2 passed\n")
    text = ex.read_text("utf-8")
    ex.write_text(text.replace("return n - 1", "return n - 2"))
    failed = "Exercise quince-1 failed: 3 less 1 is 2\n"
    assert check() == (1, failed)  # which stands above
    ex.write_text(text.replace("def peel_twice", "def again"))
    assert "quince-2 failed: ex.py does not define peel_twice" in check()[1]
    ex.write_text(f"{text}\n\n1 / 0\n")
    assert "Exercise quince-2 failed: ex.py, line" in check()[1]


def test_an_exercise_is_added_to_its_own_file_once(ex: Path) -> None:
    before = ex.read_bytes()
    other = ex.with_name("other.py")
    for name, file, says in (
        ("apple-1", ex, f"{ex} has apple-1 already"),
        ("apple-9", other, "there is no exercise apple-9"),
        (
            "quince-2",
            other,
            f"builds on quince-1, which {other} does not have",
        ),
        ("pear-2", ex.with_name("exercises.json"), "its first line must name"),
        ("pear-2", ex.parent, "cannot be read"),
    ):
        arguments = ["exercise", name, "--into", str(file)]
        found = invoke(*arguments, "--language", "en")
        assert (found.exit_code, found.stdout) == (2, "")
        assert says in found.stderr
        chinese = invoke(*arguments, "--language", "zh")
        assert chinese.exit_code == 2
        assert chinese.stderr != found.stderr
    assert ex.read_bytes() == before
    assert not other.exists()
    found = invoke("exercise", "apple-1", "--into", str(other))
    assert found.exit_code == 0
    assert other.read_bytes() == before


@pytest.mark.usefixtures("ex")
def test_a_hint_is_given_where_there_is_one() -> None:
    chinese = invoke("exercise", "quince-2", "--hint", "--language", "zh")
    assert chinese.output == "削两次。\n\n真的。\n"
    english = invoke("exercise", "--hint", "quince-2", "--language", "en")
    assert english.output == "Peel twice.\n\nReally.\n"
    for arguments, says in (
        (["exercise", "pear-2", "--hint"], "exercise pear-2 has no hint"),
        (["exercise", "--hint"], "which exercise?"),
    ):
        found = invoke(*arguments, "--language", "en")
        assert (found.exit_code, found.stdout) == (2, "")
        assert found.stderr == f"attention-book: {says}\n"


def test_what_goes_wrong_outside_of_the_function_is_named_too(
    ex: Path, check: Check
) -> None:
    stub = ex.read_text("utf-8")
    code = "    return helper(n)\n\n\ndef helper(n):\n    return n[0]"
    line = write(ex, code)
    assert f"ex.py, line {line + 4}: TypeError: 'int'" in check()[1]
    text = ex.read_text("utf-8").replace("(n)", "(m, n)")
    ex.write_text(text, "utf-8")
    assert "where the check uses it: TypeError: peel() missing" in check()[1]
    ex.write_text(f"{stub}\n\n1 / 0\n", "utf-8")
    assert ": ZeroDivisionError: division by zero\n" in check()[1]
    ex.write_text(stub.replace("def peel", "def mine"), "utf-8")
    wanted = "ex.py does not define peel; use that name"
    assert check() == (1, f"Exercise apple-1 failed: {wanted}\n")
    assert "ex.py 里没有 peel，请用这个名字" in check("zh")[1]


def test_an_endless_loop_is_stopped(
    ex: Path, check: Check, monkeypatch: pytest.MonkeyPatch
) -> None:
    line = write(ex, "    print('on it')\n    while True:\n        pass")
    monkeypatch.setattr(exercise, "_TIME_LIMIT", 2)
    failed = "Exercise apple-1 failed: it was not done after 2 seconds"
    status, said = check()
    assert status == 1
    assert re.fullmatch(rf"on it\n{failed}, but at ex.py, line (\d+)\n", said)
    assert int(re.findall(r"\d+", said)[-1]) in (line + 1, line + 2)


def check_in_a_process(ex: Path) -> subprocess.CompletedProcess[bytes]:
    program = [sys.executable, "-c", OF_SMALL, str(ex.parent)]
    return subprocess.run(
        [*program, "check", str(ex), "--language", "en"],
        capture_output=True,
        check=False,
        env={**os.environ, "TMPDIR": str(ex.parent)},
        timeout=60,
    )


@pytest.mark.skipif(os.name != "posix", reason="of processes that fork")
def test_what_a_file_has_started_ends_with_it(ex: Path) -> None:
    write(
        ex,
        "    import os, time\n"
        "    if os.fork() == 0:\n"
        "        time.sleep(300)\n"
        "    return n - 1",
    )
    found = check_in_a_process(ex)  # waits for all that have its output
    assert found.stdout == b"Exercise apple-1 passed\n"


@pytest.mark.skipif(os.name != "posix", reason="of signals")
@pytest.mark.parametrize("how", ["SIGHUP", "SIGTERM", "SIGKILL"])
def test_code_does_not_outlive_the_command(ex: Path, how: str) -> None:
    write(
        ex,
        "    import os, pathlib\n"
        "    pathlib.Path('pid').write_text(f'{os.getpid()}\\n')\n"
        "    while True:\n"
        "        pass",
    )
    program = [sys.executable, "-c", OF_SMALL, str(ex.parent), "check", ex]
    with subprocess.Popen(program, cwd=ex.parent) as command:
        pid = ex.with_name("pid")
        wait_until(lambda: pid.exists() and pid.read_text().endswith("\n"))
        command.send_signal(getattr(signal, how))
    worker = Path("/proc", pid.read_text().strip())
    wait_until(lambda: not worker.exists())


def wait_until(holds: Callable[[], bool]) -> None:
    """Wait until something holds; fail after half a minute."""
    end = time.monotonic() + 30
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.05)


@pytest.mark.skipif(os.name != "posix", reason="of signals")
def test_ctrl_c_ends_a_check_and_leaves_nothing(ex: Path) -> None:
    write(
        ex,
        "    import os, signal, time\n"
        "    os.kill(os.getppid(), signal.SIGINT)\n"
        "    time.sleep(300)",
    )
    found = check_in_a_process(ex)
    assert (found.returncode, found.stdout, found.stderr) == (130, b"", b"")
    assert {*ex.parent.iterdir()} == {ex, ex.with_name("exercises.json")}


def test_a_neighbouring_file_can_be_imported_and_no_module_of_ours(
    ex: Path, check: Check
) -> None:
    ex.with_name("helper.py").write_text("number = 3\n")
    write(ex, "    from helper import number\n    import translate")
    said = check()[1]
    assert "ModuleNotFoundError: No module named 'translate'" in said


def test_a_file_may_have_dataclasses_threads_and_a_main_program(
    ex: Path, check: Check
) -> None:
    head = (
        "from __future__ import annotations\n"
        "from dataclasses import dataclass\n\n\n"
        "@dataclass\nclass C:\n    n: int\n\n\n"
    )
    text = ex.read_text("utf-8").replace("def peel", f"{head}def peel")
    ex.write_text(text, "utf-8")
    write(
        ex,
        "    import threading, time\n"
        "    threading.Thread(target=time.sleep, args=(1000,)).start()\n"
        "    return C(n - 1).n\n\n\n"
        'if __name__ == "__main__":\n    raise SystemExit',
    )
    assert check()[0] == 0


def refused(file: Path, language: str = "en") -> str:
    """What is said, in one line and with status 2, of a file not to be run."""
    found = invoke("check", str(file), "--language", language)
    assert found.exit_code == 2
    assert found.stdout == ""
    assert re.fullmatch("attention-book: .*\n", found.stderr)
    return found.stderr


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda text: text.split("\n", 1)[1], "its first line must name the"),
        (lambda text: "", "exercise: # attention-book exercise by-hand-2"),
        (lambda text: text.replace("apple-1", "apple-9"), "near it are appl"),
        (lambda text: "\nreturn 1\n", "line 2: a syntax error: 'return' out"),
        (lambda text: "x = '\0'\n", "source code"),
        (lambda text: "x = " + "-" * 9_999 + "1", "ex.py: is no Python"),
    ],
)
def test_a_file_that_can_not_be_checked_is_refused(
    ex: Path, change, says
) -> None:
    ex.write_text(change(ex.read_text("utf-8")), "utf-8")
    assert says in refused(ex) != refused(ex, "zh")


def test_what_is_no_text_file_is_refused(ex: Path) -> None:
    for path in (ex.with_name("none.py"), ex.parent, Path(os.devnull)):
        assert f"{path}: cannot be read: " in refused(path)
    ex.write_bytes(ex.read_text("utf-8").encode("utf-16"))
    assert "is no Python: 'utf-8' codec" in refused(ex)


@pytest.mark.usefixtures("ex")
def test_an_unknown_exercise_is_refused_with_those_near_it() -> None:
    found = invoke("exercise", "peer-2", "--language", "en")
    assert found.exit_code == 2
    said = "there is no exercise peer-2; near it are pear-2, apple-2, apple-1"
    assert found.stderr == f"attention-book: {said}\n"
