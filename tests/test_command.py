"""The command as a process: how it starts, what it writes to, how it ends.

Where it can be, it is tried with `exercise`, which needs no PyTorch and so
starts in a tenth of the time.
"""

import importlib
import os
import pickle
import signal
import string
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import attention_book
from attention_book import causal_mask
from attention_book.cli.app import _COMMANDS, _MODULES, _import_command, app
from corpora.learner import LEARNER
from literate.chapter import ROOT


COMMAND = [sys.executable, "-m", "attention_book"]
posix_only = pytest.mark.skipif(os.name != "posix", reason="of POSIX shells")
linux_only = pytest.mark.skipif(
    not Path("/dev/full").exists(), reason="has no /dev/full"
)


def start(*arguments: str, **how: Any) -> "subprocess.Popen[bytes]":
    """Start a process whose output and errors are read."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen(
        arguments, **pipes | {"env": environment, "cwd": ROOT} | how
    )


def shell(line: str) -> tuple[int, str, str]:
    """Run a line of a shell, in which $ab is the command."""
    process = start("bash", "-c", line.replace("$ab", " ".join(COMMAND)))
    out, err = process.communicate(timeout=300)
    return process.returncode, out.decode(), err.decode()


def python(program: str) -> tuple[str, str]:
    """Run a program that must end well."""
    process = start(sys.executable, "-c", program)
    out, err = (text.decode() for text in process.communicate(timeout=300))
    assert process.returncode == 0, err
    return out, err


def test_what_needs_no_pytorch_does_not_import_it(tmp_path: Path) -> None:
    """Nor does the package itself, until a name of it is used."""
    file = tmp_path / "ex.py"
    file.write_text("# attention-book exercise by-hand-2\nx = (", "utf-8")
    corpus = tmp_path / "letters.tsv"
    lines = [f"{c * 5}\t{c} 词" for c in string.ascii_lowercase]
    corpus.write_text("\n".join(lines), "utf-8")
    program = f"""
import sys
import attention_book
import attention_book.__main__
from attention_book.cli.app import main
statuses = []
for line in (
    "--help", "--version", "exercise", "exercise by-hand-2", "exercise 99-9",
    "check {file}", "corpus {corpus}", "corpus klingon", "corpus no.tsv",
    "nonsense", "--nonsense",
):
    sys.argv = ["attention-book", *line.split()]
    try:
        main()
    except SystemExit as ended:
        statuses.append(ended.code)
    assert "torch" not in sys.modules, line
assert attention_book.ViT is attention_book.models.vit.ViT
assert "torch" in sys.modules
print(*statuses)
"""
    out, err = python(program)
    assert out.splitlines()[-1] == "0 0 0 0 2 2 0 1 1 2 2"
    listed = " ".join(out.split("Commands ")[1].replace("│", " ").split())
    for name, what in _COMMANDS.items():
        assert f" {name} {what} " in listed
    assert "attention-book: no.tsv: No such file or directory\n" in err


def test_nothing_is_imported_that_is_not_used() -> None:
    out, err = python("""
import sys
from attention_book import causal_mask
print(*sorted(m for m in sys.modules if m.startswith("attention_book.")))
from attention_book.io.checkpoints import on_meta
from attention_book.models.config import ViTConfig
from attention_book.models.vit import ViT
on_meta(ViT, ViTConfig())
assert "torch._dynamo" not in sys.modules  # PyTorch's compiler
""")
    assert not err
    assert causal_mask.__module__ in out.split()
    assert len(out.split()) < 5


def test_the_root_has_every_public_name_and_no_other() -> None:
    table = attention_book._modules()
    assert attention_book.__all__ == sorted(table)
    assert {*table, "__version__"} <= {*dir(attention_book)}
    everything: dict[str, object] = {}
    exec("from attention_book import *", everything)
    assert everything.keys() - {"__builtins__"} == table.keys()
    for name, module in table.items():
        thing = everything[name]
        found = vars(importlib.import_module(module))
        assert name in found["__all__"]
        assert thing is found[name]
        assert pickle.loads(pickle.dumps(thing)) is thing  # noqa: S301


def test_a_name_that_is_not_there_is_an_error() -> None:
    with pytest.raises(AttributeError, match="attention_book has no attribut"):
        attention_book.nothing  # noqa: B018
    with pytest.raises(ImportError, match="nothing"):
        exec("from attention_book import nothing")


def test_help_says_of_each_command_what_its_function_does() -> None:
    for name, what in _COMMANDS.items():
        _import_command(name)
        module = _MODULES.get(name, name)
        functions = vars(sys.modules[f"attention_book.cli.{module}"])
        function = functions.get(f"_{name}") or functions[f"_show_{name}"]
        assert function.__doc__ == what
    assert len(app.registered_commands) == len(_COMMANDS)


@posix_only
@pytest.mark.parametrize(
    ("line", "status", "said"),
    [
        ("$ab --version 0<&- >&- 2>&-", 0, None),
        pytest.param(
            *("$ab exercise 99-9 --language en 2>/dev/full", 2, None),
            marks=linux_only,
        ),
        pytest.param(
            *("$ab exercise > /dev/full", 1, "No space left on device"),
            marks=linux_only,
        ),
    ],
)
def test_a_stream_that_is_closed_or_full_is_one_line(
    line: str, status: int, said: str | None
) -> None:
    found, _, err = shell(line)
    assert found == status
    assert err.startswith(f"attention-book: {said}") if said else not err
    assert err.count("\n") == bool(said)


@posix_only
def test_no_file_takes_the_number_of_a_closed_stream(tmp_path: Path) -> None:
    """What is written to standard error must not end up in a checkpoint."""
    program = tmp_path / "program.py"
    program.write_text(
        "import os, sys\n"
        "from attention_book.__main__ import _open_streams\n"
        "_open_streams()\n"
        "file = open(sys.argv[1], 'w')\n"
        "os.write(2, b'lost')\n"
        "print(sys.stdin.read(), end='', file=sys.stderr)\n"
        "sys.exit(file.fileno())"
    )
    file = tmp_path / "file"
    status, *_ = shell(f"{sys.executable} {program} {file} <&- >&- 2>&-")
    assert status > 2
    assert file.read_text("utf-8") == ""


@posix_only
def test_a_reader_who_leaves_ends_it_quietly() -> None:
    process = start(*COMMAND, "exercise")
    assert process.stdout is not None
    process.stdout.close()
    assert process.wait(60) == 1
    assert process.stderr is not None
    assert process.stderr.read() == b""
    process.stderr.close()


@posix_only
@pytest.mark.parametrize(
    ("encoding", "shown"),
    [("ascii", "utf-8"), ("gb18030", "gb18030")],
)
def test_a_terminal_gets_what_it_can_show(encoding: str, shown: str) -> None:
    """Its own encoding if that has Chinese, and UTF-8 if it has not."""
    ours, theirs = os.openpty()
    variables = {"PYTHONPATH": str(ROOT), "PYTHONIOENCODING": encoding}
    process = start(
        *[*COMMAND, "exercise", "by-hand-2", "--language", "zh"],
        env={**os.environ, **variables},
        stdout=theirs,
    )
    os.close(theirs)
    printed = b""
    while b"attention-book check" not in printed:
        printed += os.read(ours, 1 << 16)
    process.communicate()
    os.close(ours)
    assert "练习 by-hand-2，只看过去" in printed.decode(shown)


@posix_only
@pytest.mark.parametrize("after", ["typer", "torch.version"])
def test_ctrl_c_while_modules_are_imported_ends_it_quietly(after: str) -> None:
    """Python itself says which module it has just imported."""
    process = start(
        sys.executable, "-X", "importtime", *COMMAND[1:], "translate"
    )
    assert process.stderr is not None
    for line in process.stderr:
        if line.split()[-1:] == [after.encode()]:
            process.send_signal(signal.SIGINT)
            break
    _, err = process.communicate(timeout=60)
    assert process.returncode == -signal.SIGINT
    said = [line for line in err.splitlines() if b"import time:" not in line]
    assert said == []


@posix_only
def test_a_line_is_answered_when_it_comes_and_ctrl_c_ends_it() -> None:
    command = [*COMMAND, "translate", "--model", str(LEARNER[900])]
    process = start(*command, stdin=subprocess.PIPE)
    assert process.stdin is not None
    assert process.stdout is not None
    for source, target in [
        ("Tom chases Jerry.", "汤姆追逐杰瑞。"),
        ("He bought two books.", "他买了两本书。"),
        ("", ""),
    ]:
        process.stdin.write(f"{source}\n".encode())
        process.stdin.flush()
        assert process.stdout.readline().decode() == f"{target}\n"
    process.send_signal(signal.SIGINT)
    assert process.communicate(timeout=60) == (b"", b"")
    assert process.returncode == 130


@posix_only
def test_what_ignores_ctrl_c_goes_on() -> None:
    """As a script does that runs in the background."""
    status, out, err = shell(
        "trap '' INT; $ab exercise & p=$!; for i in 1 2 3 4; do sleep 0.02; "
        "kill -INT $p 2>&-; done; wait $p"
    )
    assert (status, err) == (0, "")
    assert "by-hand-2" in out
