"""The attention-book command, as somebody at a terminal meets it."""

import io
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from PIL import Image
from typer.testing import CliRunner

from attention_book.checkpoints import load_model, read_tensors
from attention_book.cli import app, main
from attention_book.cli.translate import read_lines
from attention_book.corpus import make_split
from attention_book.fast_decoding import GRAMMAR
from attention_book.training import Trainer
from attention_book.vit import digits


SMALL = [
    "--d-model",
    "16",
    "--n-layers",
    "1",
    "--n-heads",
    "2",
    "--vocab-size",
    "300",
    "--batch-tokens",
    "300",
]


def run(*arguments: object, typed: str | bytes | None = None) -> str:
    """What the command prints, if all is well."""
    found = CliRunner().invoke(app, [*map(str, arguments)], input=typed)
    assert found.exit_code == 0, (found.output, found.exception)
    return found.output


@pytest.fixture
def error_of(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Callable[..., str]:
    """The one line that the command says when it fails with status 1."""

    def run_and_fail(*arguments: object) -> str:
        command = ["attention-book", *map(str, arguments)]
        monkeypatch.setattr(sys, "argv", command)
        with pytest.raises(SystemExit) as stopped:
            main()
        assert stopped.value.code == 1
        out, err = capsys.readouterr()
        assert err.startswith("attention-book: ")
        assert err.endswith("\n")
        assert err.count("\n") == 1
        assert "Traceback" not in out + err
        return err

    return run_and_fail


@pytest.fixture(scope="module")
def sentences(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pairs = make_split(n_train=1, n_test=60).sentences
    path = tmp_path_factory.mktemp("corpus") / "sentences.tsv"
    path.write_text("\n".join("\t".join(pair) for pair in pairs), "utf-8")
    return path


def test_the_sentence_of_the_book_is_translated() -> None:
    assert run("translate", "Tom chases Jerry.") == "汤姆追逐杰瑞。\n"


def test_sentences_come_from_arguments_a_file_or_standard_input(
    tmp_path: Path,
) -> None:
    file = tmp_path / "in.txt"
    file.write_text("Tom chases Jerry.\r\n\r\nHe bought two books.\n", "utf-8")
    wanted = ["汤姆追逐杰瑞。", "", "他买了两本书。"]
    assert run("translate", "--file", file).splitlines() == wanted
    typed = file.read_text("utf-8")
    assert run("translate", typed=typed).splitlines() == wanted
    texts = ("Tom chases Jerry.", "He bought two books.")
    assert run("translate", *texts).splitlines() == [wanted[0], wanted[2]]
    with_beam = run("translate", *texts, "--beam", 3).splitlines()
    assert with_beam == [wanted[0], wanted[2]]


def test_only_a_line_break_ends_a_line(tmp_path: Path) -> None:
    file = tmp_path / "in.txt"
    file.write_text(
        "Tom chases\x0c Jerry.\r\n\nTom chases\u2028Jerry.", "utf-8"
    )
    wanted = "汤姆追逐杰瑞。\n\n汤姆追逐杰瑞。\n"
    assert run("translate", "--file", file) == wanted


def test_somebody_who_types_is_told_how_to_end(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    typed = io.TextIOWrapper(io.BytesIO(b"Tom chases Jerry.\n"), "utf-8")
    monkeypatch.setattr(typed, "isatty", lambda: True)
    monkeypatch.setattr(sys, "stdin", typed)
    assert read_lines(None) == ["Tom chases Jerry."]
    out, err = capsys.readouterr()
    assert out == ""
    assert "one sentence a line" in err


def test_only_unknown_words_lead_to_the_corpus(
    monkeypatch: pytest.MonkeyPatch,
    error_of: Callable[..., str],
) -> None:
    line = error_of("translate", "a unicorn")
    assert "see: attention-book corpus" in line
    line = error_of("translate", "")
    assert "attention-book corpus" not in line


def test_brackets_of_a_sentence_are_printed(tmp_path: Path) -> None:
    lines = [f"[bold]word {c * 3}[/i] :cat:\t{c} 词" for c in "abcdefghij"]
    lines += [f"{c * 4} [red] words\t{c} 词们" for c in "abcdefghijklm"]
    file = tmp_path / "brackets.tsv"
    file.write_text("\n".join(lines), "utf-8")
    output = run("corpus", file, "-n", 23)
    assert "[bold]word" in output
    assert "[/i] :cat:" in output
    assert "[red] words" in output


def test_attention_is_drawn_with_a_row_for_each_word() -> None:
    lines = run("translate", "Tom chases Jerry.", "--show-attention")
    first, _, head, _, *rows, _ = lines.splitlines()
    assert first == "汤姆追逐杰瑞。"
    assert head.split() == ["Tom", "chases", "Jerry", "."]
    words = [row.split()[-1] for row in rows]
    assert words == ["汤姆", "追逐", "杰瑞", "。", "<eos>"]
    assert "█" in "".join(rows)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["Tom chases a unicorn quickly."], "unknown words: unicorn quickly"),
        (["Tom chases Jerry.", "Tom is a fox."], "line 2: unknown words: fox"),
        ([""], "got 0"),
        (["--file", "no-such-file.txt"], "no-such-file.txt"),
        (["Tom chases Jerry.", "--model", "none.st"], "none.st"),
        (["Tom chases Jerry.", "--model", "pyproject.toml"], "safetensors"),
        (["Tom chases Jerry.", "--model", "tests"], "tests: wanted a file"),
    ],
)
def test_what_can_not_be_translated_is_one_line(
    arguments: list[str],
    said: str,
    error_of: Callable[..., str],
) -> None:
    assert said in error_of("translate", *arguments)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"one line without a tab\n", ":1: wanted source, tab, target"),
        (b"a\tb\nc\t\n", ":2: wanted source, tab, target"),
        ("Tom\t汤姆".encode("gb18030"), "wanted UTF-8"),
        (b"a\tb\0\n", ":1: wanted text, got a NUL byte"),
        (b"good morning\tzao\n", "wanted 20 pairs or more"),
        (b"", "wanted 20 pairs or more"),
    ],
)
@pytest.mark.parametrize("command", ["corpus", "train", "evaluate"])
def test_a_corpus_that_is_none_is_one_line(
    command: str,
    data: bytes,
    said: str,
    tmp_path: Path,
    error_of: Callable[..., str],
) -> None:
    file = tmp_path / "bad.tsv"
    file.write_bytes(data)
    options = {
        "corpus": [file],
        "train": [tmp_path / "out.safetensors", "--corpus", file],
        "evaluate": ["--corpus", file],
    }
    line = error_of(command, *options[command])
    assert said in line
    assert "bad.tsv" in line
    assert list(tmp_path.iterdir()) == [file]


def test_an_unknown_corpus_or_a_missing_folder_is_one_line(
    sentences: Path,
    tmp_path: Path,
    error_of: Callable[..., str],
) -> None:
    line = error_of("corpus", "klingon")
    assert "grammar, catalogues, dataset:NAME or a .tsv file" in line
    out = tmp_path / "no" / "model.safetensors"
    line = error_of("train", out, "--corpus", sentences, *SMALL)
    assert str(out) in line


def test_numbers_that_make_no_sense_are_one_line(
    sentences: Path,
    tmp_path: Path,
    error_of: Callable[..., str],
) -> None:
    out = tmp_path / "out.safetensors"
    for option, value, said in [
        ("--max-steps", 0, "max_steps must be a positive whole number"),
        ("--label-smoothing", 2, "label_smoothing must be in [0, 1)"),
        ("--n-heads", 3, "n_heads must divide d_model"),
        ("--batch-tokens", 3, "batch_tokens must be"),
    ]:
        options = [*SMALL, option, value]
        line = error_of("train", out, "--corpus", sentences, *options)
        assert said in line
    assert not list(tmp_path.iterdir())


def test_a_run_that_diverges_keeps_its_last_good_checkpoint(
    sentences: Path,
    tmp_path: Path,
    error_of: Callable[..., str],
) -> None:
    out = tmp_path / "out.safetensors"
    options = [
        "--corpus",
        sentences,
        *SMALL,
        "--learning-rate",
        1e30,
        "--warmup-steps",
        1,
    ]
    line = error_of("train", out, *options, "--save-every", 1)
    assert "step " in line
    step = int(line.split("step ")[1].split(":")[0])
    tensors, _ = read_tensors(out)
    assert len(tensors["losses"]) == step - 1
    assert all(t.isfinite().all() for t in tensors.values())


def test_training_goes_on_and_a_changed_command_is_refused(
    sentences: Path,
    tmp_path: Path,
    error_of: Callable[..., str],
) -> None:
    out = tmp_path / "out.safetensors"
    command = ["train", out, "--corpus", sentences, *SMALL, "--max-steps", 6]
    output = run(*command, "--save-every", 2)
    assert [f"step {n} " in output for n in range(1, 7)] == [False, True] * 3
    assert "tokens/s" in output
    assert "unseen " in output
    assert output.splitlines()[-1].endswith(f"--corpus {sentences}")
    assert "\n\n" not in output
    assert "going on from step 6" in run(*command)
    line = error_of(*command[:-1], 7)
    assert "max_steps" in line
    assert "use the options it began with, or a new file" in line
    line = error_of(*command, "--n-layers", 2)
    assert "n_layers" in line
    run("translate", "Tom chases Jerry.", "--model", out)


def test_a_model_of_other_words_is_refused_with_advice(
    sentences: Path,
    tmp_path: Path,
    error_of: Callable[..., str],
) -> None:
    other = tmp_path / "other.tsv"
    letters = "abcdefghijklmnopqrstuvwxyz"
    other.write_text("\n".join(f"{c * 5}\t{c} 词" for c in letters), "utf-8")
    out = tmp_path / "out.safetensors"
    out.write_bytes(GRAMMAR.read_bytes())
    line = error_of("train", out, "--corpus", other)
    assert "unknown words: " in line
    assert "or a new file" in line
    assert out.read_bytes() == GRAMMAR.read_bytes()
    line = error_of("train", tmp_path)
    assert f"{tmp_path}: wanted a file, got a folder" in line
    line = error_of("evaluate", "--corpus", other)
    assert "see: attention-book corpus" in line


def test_an_interrupted_run_says_how_to_go_on(
    sentences: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(self: Trainer) -> float:
        if len(self.losses) == 3:
            raise KeyboardInterrupt
        return step(self)

    step = Trainer.step
    out = tmp_path / "out.safetensors"
    command = ["train", out, "--corpus", sentences, *SMALL, "--max-steps", 6]
    command += ["--save-every", 2]
    monkeypatch.setattr(Trainer, "step", interrupted)
    found = CliRunner().invoke(app, [*map(str, command)])
    assert found.exit_code != 0
    assert f"{out}: stopped; the same command goes on" in found.output
    monkeypatch.setattr(Trainer, "step", step)
    assert "going on from step 2" in run(*command)


def test_a_killed_run_ends_as_one_that_was_not(
    sentences: Path, tmp_path: Path
) -> None:
    whole = tmp_path / "whole"
    killed = tmp_path / "killed"
    options = ["--corpus", str(sentences), *SMALL]
    options += ["--max-steps", "40", "--save-every", "5"]
    run("train", whole, *options)
    command = [sys.executable, "-m", "attention_book.cli", "train"]
    process = subprocess.Popen(
        [*command, str(killed), *options], stdout=subprocess.DEVNULL
    )
    until = time.monotonic() + 60
    while process.poll() is None and time.monotonic() < until:
        if killed.exists() and len(read_tensors(killed)[0]["losses"]) >= 5:
            os.kill(process.pid, signal.SIGKILL)
            break
        time.sleep(0.01)
    process.wait()
    done = len(read_tensors(killed)[0]["losses"])
    assert done >= 5
    run("train", killed, *options)
    expected, _ = read_tensors(whole)
    found, _ = read_tensors(killed)
    assert found["losses"].tolist() == expected["losses"].tolist()


def test_evaluate_scores_a_model_of_ones_own(
    sentences: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out.safetensors"
    options = ["--corpus", sentences, *SMALL, "--max-steps", 2]
    run("train", out, *options)
    output = run("evaluate", "--model", out, "--corpus", sentences, "--n", 3)
    assert "unseen sentences" in output
    assert "BLEU" in output
    assert load_model(out).model.config.n_layers == 1


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[Path, int]]:
    """Unseen digits as image files: PNG and JPEG, dark and light ink."""
    folder = tmp_path_factory.mktemp("drawn")
    unseen = digits()[1]
    files = []
    for label in range(10):
        ink = unseen.images[unseen.labels == label][1, 0]
        light = ink if label % 2 else 1 - ink
        image = Image.fromarray((255 * light).byte().numpy())
        file = folder / f"{label}.{'png' if label < 5 else 'jpg'}"
        image.resize((60 + 31 * label, 80 + 29 * label)).save(file)
        files.append((file, label))
    return files


def test_digits_are_read(drawn: list[tuple[Path, int]]) -> None:
    files = [file for file, _ in drawn]
    lines = run("classify", *files).splitlines()
    right = [
        line.startswith(f"{file}: {label} ")
        for line, (file, label) in zip(lines, drawn, strict=True)
    ]
    assert sum(right) >= 9
    alone = run("classify", files[3])
    assert re.fullmatch(r"3 \d+\.\d%\n", alone)
    three = run("classify", "-n", 3, "--precision", "bf16", files[3])
    assert three.count("%") == 3
    assert three.startswith("3 ")


def test_what_is_no_digit_is_one_line(
    tmp_path: Path, error_of: Callable[..., str]
) -> None:
    text = tmp_path / "text.png"
    empty = tmp_path / "empty.png"
    text.write_text("no image", "utf-8")
    Image.new("L", (30, 30), 255).save(empty)
    assert f"{text}: wanted an image, got" in error_of("classify", text)
    assert f"{empty}: wanted something dr" in error_of("classify", empty)
    assert "got a folder" in error_of("classify", tmp_path)
    assert "nowhere.png" in error_of("classify", tmp_path / "nowhere.png")
    assert "model" in error_of("classify", empty, "--model", GRAMMAR)
    assert "got a folder" in error_of("classify", empty, "--model", tmp_path)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU here")
@pytest.mark.parametrize("command", ["translate", "classify", "evaluate"])
def test_a_device_that_is_not_there_is_one_line(
    command: str, tmp_path: Path, error_of: Callable[..., str]
) -> None:
    more = [] if command == "evaluate" else [tmp_path / "x"]
    said = error_of(command, *more, "--device", "cuda")
    assert "device: wanted cuda, but torch" in said
    said = error_of(command, *more, "--device", "tpu")
    assert "device must be auto, cpu, mps, cuda or cuda:N, got 'tpu'" in said
    said = error_of(command, *more, "--precision", "tf32")
    assert "precision: tf32 is for cuda, got device cpu" in said


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU here")
def test_train_checks_the_device_and_says_what_it_chose(
    sentences: Path, tmp_path: Path, error_of: Callable[..., str]
) -> None:
    out = tmp_path / "out"
    options = ["--corpus", sentences, *SMALL, "--max-steps", 2]
    assert "wanted cuda" in error_of("train", out, "--device", "cuda")
    assert not out.exists()
    said = run("train", out, *options)
    assert "device cpu: " in said
    assert "precision fp32: full precision" in said
    half = tmp_path / "half"
    said = run("train", half, *options, "--precision", "bf16")
    assert "precision bf16: asked for" in said
    losses = [read_tensors(path)[0]["losses"] for path in (out, half)]
    assert not torch.equal(*losses)
    assert torch.allclose(*losses, atol=0.1)
    said = error_of("train", half, *options)  # auto is fp32 here
    assert "training precision = 'bf16', wanted 'fp32'" in said
    assert "use the options it began with" in said


def test_translations_in_half_precision_are_those_in_full() -> None:
    text = "Did Anna buy this red umbrella yesterday?"
    full = run("translate", text)
    assert run("translate", text, "--precision", "bf16") == full
    assert run("translate", text, "--beam", 3, "--precision", "bf16") == full


def test_the_version_is_that_of_the_package() -> None:
    import attention_book

    assert run("--version") == f"{attention_book.__version__}\n"


def test_help_and_wrong_usage() -> None:
    assert "translate" in run("--help")
    assert run("train", "-h") == run("train", "--help")
    for wrong in (["--beam", "0"], ["--beam", "101"], ["--beam", "x"]):
        found = CliRunner().invoke(app, ["translate", "a", *wrong])
        assert found.exit_code == 2
    assert run("translate", "Tom chases Jerry.", "--beam", 100)
    found = CliRunner().invoke(app, ["train", "a", "--vocab-size", "258"])
    assert found.exit_code == 2
    found = CliRunner().invoke(app, ["translate", "a", "--file", "b"])
    assert found.exit_code == 2
    assert "not both" in found.output
