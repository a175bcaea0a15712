"""The attention-book command, as somebody at a terminal meets it."""

import io
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from random import Random
from string import ascii_lowercase

import pytest
import torch
from PIL import Image
from typer.testing import CliRunner, Result

import attention_book
from attention_book import Trainer, Translator
from attention_book.cli.app import app, main
from attention_book.data.digits import load_digits
from attention_book.data.split import make_split
from attention_book.generation.confidence import Calibration, Translation
from attention_book.generation.translator import EVERYDAY
from attention_book.io.files import lock
from attention_book.io.tensors import read_tensors
from attention_book.tokenizers.bpe import BPETokenizer
from attention_book.tokenizers.words import WordTokenizer
from corpora.exam import read_exam
from corpora.learner import LEARNER


SMALL = """--d-model 16 --n-layers 1 --n-heads 2 --vocab-size 300
--batch-tokens 300 --device cpu""".split()


def invoke(*arguments: object, typed: str | bytes | None = None) -> Result:
    return CliRunner().invoke(app, [*map(str, arguments)], input=typed)


def run(*arguments: object, typed: str | bytes | None = None) -> str:
    """What the command prints, if all is well."""
    found = invoke(*arguments, typed=typed)
    assert found.exit_code == 0, (found.output, found.exception)
    return found.output


def error_of(*arguments: object) -> str:
    """The one line that the command says when it fails with status 1."""
    out, err = io.StringIO(), io.StringIO()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["attention-book", *map(str, arguments)])
        patch.setattr(sys, "stdout", out)
        patch.setattr(sys, "stderr", err)
        with pytest.raises(SystemExit) as stopped:
            main()
    assert stopped.value.code == 1
    assert re.fullmatch("attention-book: .*\n", err.getvalue())
    assert "Traceback" not in out.getvalue() + err.getvalue()
    return err.getvalue()


@pytest.fixture(scope="module")
def sentences(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pairs = make_split(n_train=1, n_test=60).sentences
    path = tmp_path_factory.mktemp("corpus") / "sentences.tsv"
    path.write_text("\n".join("\t".join(pair) for pair in pairs), "utf-8")
    return path


@pytest.fixture(scope="module")
def words(tmp_path_factory: pytest.TempPathFactory) -> list[object]:
    """The option for a model of the grammar, whose doubts are calibrated."""
    path = tmp_path_factory.mktemp("model") / "words.safetensors"
    translator = Translator.load(LEARNER[900])
    translator.calibration = Calibration(threshold=0.98)
    translator.save(path)
    return ["--model", path]


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "out.safetensors"


@pytest.fixture
def train(sentences: Path, out: Path) -> list[object]:
    """A command that trains a small model."""
    return ["train", out, "--corpus", sentences, *SMALL]


def test_the_books_model_knows_what_people_say_first() -> None:
    said = run("translate", "I love you.", "我爱你。", "Where is the station?")
    *love, station = said.splitlines()
    assert love == ["我爱你。", "I love you."]
    assert re.fullmatch(".*站.*在(哪里|哪儿|哪)？", station)


def test_sentences_come_from_arguments_or_standard_input(
    words: list[object],
) -> None:
    texts = ["Tom chases Jerry.", "", "He bought two books."]
    wanted = "汤姆追逐杰瑞。\n\n他买了两本书。\n"
    typed = "\r\n".join(texts)
    assert run("translate", *words, typed=typed) == wanted
    assert run("translate", *words, typed) == wanted
    assert run("translate", *words, *texts) == wanted
    assert run("translate", *words, *texts, "--beam", 3) == wanted
    found = invoke("translate", *words, "Tom chases Jerry.", "\udcff\udcfe")
    assert found.exit_code == 1
    said = r"attention-book: line 2: unknown words: \udcff \udcfe"
    assert found.stderr.startswith(said)


def test_four_hypotheses_are_kept_unless_said_otherwise() -> None:
    texts = [row["english"] for row in read_exam()[:12]]
    four, one = (run("translate", *texts, "--beam", size) for size in (4, 1))
    assert run("translate", *texts) == four != one


def test_words_without_quotes_are_one_sentence(words: list[object]) -> None:
    said = run("translate", *words, "Tom", "chases", "Jerry.")
    assert said == "汤姆追逐杰瑞。\n"
    assert run("translate", *words, "Tom\n", "Jerry\n").count("\n") == 2


def test_a_model_of_ones_own_is_neither_sure_nor_silent(
    train: list[object], out: Path
) -> None:
    run(*train, "--max-steps", 1)
    options = ["--model", out, "--device", "cpu"]
    found = run("translate", "Tom chases Jerry.", "--json", *options)
    assert json.loads(found)["sure"] is None
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(BPETokenizer, "decode", lambda *_: "")
        found = invoke("translate", "Tom chases Jerry.", *options)
    assert found.exit_code == 0
    assert found.stderr == "attention-book: the translation is empty\n"


def test_somebody_who_types_is_told_how_to_end(
    words: list[object],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    typed = io.TextIOWrapper(io.BytesIO(b"Tom chases Jerry.\n"), "utf-8")
    monkeypatch.setattr(typed, "isatty", lambda: True)
    monkeypatch.setattr(sys, "stdin", typed)
    app(["translate", *map(str, words)], standalone_mode=False)
    out, err = capsys.readouterr()
    assert out == "汤姆追逐杰瑞。\n"
    assert re.fullmatch(r"Type one sentence a line; Ctrl-.* ends.\n", err)


def test_too_little_memory_is_one_line_and_a_bug_is_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr(Translator, "load", fail)
    error: Exception = torch.OutOfMemoryError("out of memory: 9 GiB")
    said = error_of("translate", "Tom")
    assert said == "attention-book: out of memory: 9 GiB\n"
    error = RuntimeError("a bug")
    with pytest.raises(RuntimeError, match="a bug"):
        error_of("translate", "Tom")


def test_each_line_keeps_its_place_whatever_is_wrong_with_others(
    words: list[object], tmp_path: Path
) -> None:
    data = b"\xef\xbb\xbf  Tom chases Jerry.\t\r\n   \r\n\nTom is a fox.\r\n"
    data += b"caf\xe9\nTom chases\0 Jerry.\nHe bought two books."
    file = tmp_path / "in.txt"
    file.write_bytes(data)
    lines = ["汤姆追逐杰瑞。", "", "", "", "", "", "他买了两本书。"]
    for arguments, name in [
        (["--file", file], str(file)),
        (["--file", "-"], "standard input"),
        ([], "standard input"),
    ]:
        typed = None if name == str(file) else data
        found = invoke("translate", *words, *arguments, typed=typed)
        assert found.exit_code == 1
        assert found.stdout.split("\n") == [*lines, ""]
        fox, byte, nul = found.stderr.splitlines()
        assert fox.startswith(f"attention-book: {name}:4: unknown words: fox")
        assert byte.endswith(f"{name}:5: wanted UTF-8, got byte 0xe9 at 3")
        assert nul.endswith(f"{name}:6: wanted text, got a NUL byte")


def test_many_lines_are_translated_in_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sources = [f"Tom {n}" for n in range(300)]
    file = tmp_path / "many.txt"
    file.write_text("\n".join([*sources[:150], "", *sources[150:]]), "utf-8")
    sizes = []

    def reverse(
        self: Translator, texts: list[str], **_: int
    ) -> list[Translation]:
        sizes.append(len(texts))
        return [Translation(text[::-1], 1.0, is_sure=True) for text in texts]

    monkeypatch.setattr(Translator, "translate_with_confidence", reverse)
    monkeypatch.setattr(Translator, "encode", lambda *_: [3])
    found = run("translate", "--file", file).split("\n")
    assert sizes == [128, 127, 44, 1]
    assert found.pop(150) == found.pop() == ""
    assert found == [source[::-1] for source in sources]
    file.write_bytes(b"a" * 1_100_000)
    said = error_of("translate", "--file", file)
    assert f"{file}: wanted lines of at most 1,000,000 bytes, got a l" in said


def test_a_doubtful_translation_is_printed_and_said_to_be_one(
    words: list[object],
) -> None:
    texts = [
        "Tom chases Jerry.",
        "",
        "They chases we.",
        "He bought two books.",
    ]
    typed = "\n".join(texts)
    found = invoke("translate", *words, "--file", "-", typed=typed)
    assert found.exit_code == 0
    first, empty, doubtful, last = found.stdout.splitlines()
    assert (first, empty, last) == ("汤姆追逐杰瑞。", "", "他买了两本书。")
    assert doubtful
    assert re.fullmatch(
        r"attention-book: standard input:3: not sure of this one \(9\d%\)\n",
        found.stderr,
    )
    for command in "translate", "explain":
        alone = invoke(command, *words, texts[2])
        assert alone.stderr.startswith("attention-book: not sure of this one")


def test_json_has_an_object_for_each_line(words: list[object]) -> None:
    texts = ["Tom chases Jerry.", "", "They chases we.", "Tom is a fox."]
    typed = "\n".join(texts)
    found = invoke("translate", *words, "--json", typed=typed)
    assert found.exit_code == 1
    rows = [json.loads(line) for line in found.stdout.splitlines()]
    assert [row["source"] for row in rows] == texts
    assert [row["sure"] for row in rows] == [True, True, False, False]
    assert rows[0]["translation"] == "汤姆追逐杰瑞。"
    confidences = [row["confidence"] for row in rows]
    assert 0.98 < confidences[0] <= 1
    assert 0.98 > confidences[2] > confidences[3] == 0
    assert "汤姆" in found.stdout
    assert [*rows[0]] == ["source", "translation", "confidence", "sure"]
    assert [*rows[3]] == [*rows[0], "error"]
    assert rows[3]["error"].startswith("unknown words: fox")


def test_a_translation_is_one_line_and_no_command_of_the_terminal(
    words: list[object], monkeypatch: pytest.MonkeyPatch
) -> None:
    hostile = "a\x1b[2J\r\n\t\x7f\x9b31m\u2028b\u3000c"
    escaped = r"a\u001b[2J\u000d\u000a\u0009\u007f\u009b31m\u2028b"
    monkeypatch.setattr(WordTokenizer, "decode", lambda *_: hostile)
    shown = [*words, "Tom chases Jerry."]
    found = run("translate", *shown, "--show-attention")
    line, *drawn = found.split("\n")
    assert line == f"{escaped}\u3000c"
    assert r"a\u001b[2J" in drawn[1]
    assert all(row.replace("\u3000", "").isprintable() for row in drawn)
    found = run("translate", *shown, "--json")
    assert json.loads(found)["translation"] == hostile
    assert found.removesuffix("\n").replace("\u3000", "").isprintable()


def test_brackets_of_a_sentence_are_printed(tmp_path: Path) -> None:
    ends = [  # unlike each other, or none could be set aside
        f"{''.join(Random(c).choices(ascii_lowercase, k=22))}\t{c * 3} 词\x1b"
        for c in ascii_lowercase
    ]
    lines = [f"[bold]word[/i] :cat: [red] {end}" for end in ends]
    file = tmp_path / "brackets.tsv"
    file.write_text("\n".join(lines), "utf-8")
    output = run("corpus", file)
    assert "[bold]word[/i] :cat: [red] " in output
    assert "\x1b" not in output


def test_attention_is_drawn_with_a_row_for_each_word(
    words: list[object],
) -> None:
    command = ["translate", *words, "--show-attention"]
    lines = run(*command, "Tom chases Jerry.")
    first, _, head, _, *rows, _ = lines.splitlines()
    assert first == "汤姆追逐杰瑞。"
    assert head.split() == ["Tom", "chases", "Jerry", "."]
    words = [row.split()[-1] for row in rows]
    assert words == ["汤姆", "追逐", "杰瑞", "。", "<eos>"]
    assert "█" in "".join(rows)
    *_, head, _, one, two, three, _ = run(*command, "Jerry").splitlines()
    for row in (one, two, three):  # all the weight there is
        assert row.startswith("  ███  ")


def test_what_can_not_be_translated_is_one_line(
    words: list[object], tmp_path: Path
) -> None:
    for model, said in [
        ("none.st", "none.st"),
        ("pyproject.toml", "safetensors"),
        ("tests", "tests: wanted a file"),
        (os.devnull, "null: wanted a file, got a device"),
    ]:
        assert said in error_of("translate", "Tom.", "--model", model)
    line = error_of("translate", *words, "Tom chases a unicorn quickly.")
    assert line.endswith("unknown words: unicorn quickly\n")
    line = error_of("translate", *words, "Tom " * 10_001)
    hostile = "\x1b[31mtom\x07" + "x" * 100_000
    line = error_of("translate", *words, hostile)
    assert r"unknown words: \u001b" in line
    assert len(line) < 1100
    file = tmp_path / "blank.txt"
    assert f"{file}: No such file" in error_of("translate", "--file", file)
    for data in (b"", b" \t\r\n\n  "):
        file.write_bytes(data)
        said = f"attention-book: {file}: nothing to translate, got 0 words\n"
        assert error_of("translate", "--file", file) == said
    assert "sentences: nothing to" in error_of("translate", " \n", "")


def test_a_corpus_that_is_none_is_one_line(tmp_path: Path, out: Path) -> None:
    file = tmp_path / "bad.tsv"
    pages = "\n".join(f"Page {n}\t{n} 页" for n in range(99))
    for text, said in [
        ("good morning\tzao\n", "wanted 20 pairs or more"),
        (pages, "wanted 9 pairs to test on and others, unlike them"),
    ]:
        file.write_text(text, "utf-8")
        for command in (
            ["corpus", file],
            ["train", out, "--corpus", file],
            ["evaluate", "--corpus", file],
        ):
            line = error_of(*command)
            assert said in line
            assert "bad.tsv" in line
    assert [*tmp_path.iterdir()] == [file]


def test_options_that_make_no_sense_are_one_line(
    train: list[object], tmp_path: Path
) -> None:
    for option, value, said in [
        ("--max-steps", 0, "max_steps must be a whole number >= 1"),
        ("--n-heads", 3, "n_heads must divide d_model"),
        ("--batch-tokens", 3, "batch_tokens must be"),
        ("--precision", "tf32", "tf32 is for cuda, got device cpu"),
        ("--corpus", "grammar", "--vocab-size and --both-directions are for"),
        ("--corpus", "klingon", "corpus must be grammar or a"),
    ]:
        assert said in error_of(*train, option, value)
    nowhere = tmp_path / "no" / "model.safetensors"
    assert str(nowhere) in error_of("train", nowhere, *train[2:])
    assert not list(tmp_path.iterdir())


def test_a_run_that_diverges_keeps_its_last_good_checkpoint(
    train: list[object], out: Path
) -> None:
    options = ["--learning-rate", 1e30, "--warmup-steps", 1, "--save-every", 1]
    line = error_of(*train, *options)
    step = int(line.split("step ")[1].split(":")[0])
    tensors, _ = read_tensors(out)
    assert len(tensors["losses"]) == step - 1
    assert all(t.isfinite().all() for t in tensors.values())


def test_training_goes_on_and_a_changed_command_is_refused(
    train: list[object], out: Path
) -> None:
    command = [*train, "--max-steps", 6]
    output = run(*command, "--save-every", 2)
    assert [f"step {n} " in output for n in range(1, 7)] == [False, True] * 3
    assert "device cpu, precision fp32" in output
    assert "steps/s" in output
    assert "unseen " in output
    assert output.splitlines()[-1].endswith(f"--corpus {train[3]}")
    assert "\n\n" not in output
    assert "going on from step 6" in run(*command)
    written = out.read_bytes()
    for changed, said in [
        (["--max-steps", 5], "max_steps = 6, wanted 5"),
        (["--precision", "bf16"], "precision = 'fp32', wanted 'bf16'"),
        (["--n-layers", 2], "n_layers"),
        (["--vocab-size", 280], "vocab_size"),
        (["--corpus", "grammar"], "--vocab-size"),
    ]:
        assert said in error_of(*command, *changed)
    assert out.read_bytes() == written
    run("translate", "Tom chases Jerry.", "--model", out)
    config = json.loads(read_tensors(out)[1]["config"])
    assert config["d_ff"] == 4 * config["d_model"] == 64


def test_a_recipe_and_one_model_for_both_directions(
    train: list[object], out: Path, sentences: Path
) -> None:
    command = [*train, "--recipe", "everyday", "--max-steps", 2]
    run(*command)
    metadata = read_tensors(out)[1]
    config = json.loads(metadata["config"])
    assert (config["n_layers"], config["n_decoder_layers"]) == (1, 2)
    assert (config["d_model"], config["dropout"]) == (16, 0.3)
    translator = Translator.load(out)
    assert translator.is_bidirectional
    to_chinese = translator.encode("Tom chases Jerry.")
    to_english = translator.encode("汤姆追逐杰瑞。")
    assert (to_english[0], to_chinese[0]) == (3, 4)
    arguments = ["translate", "我追逐 4711 次。", "--model", out, "--json"]
    found = invoke(*arguments)  # by a model that knows nothing yet
    said = "attention-book: not sure of this one: it has lost 4711"
    assert found.stderr.startswith(said)
    row = json.loads(found.stdout)
    assert row["lost"][0] == "4711"
    assert row["sure"] is False
    assert translator.encode("<2en>Tom")[0] == 3
    assert "going on from step 2" in run("train", out, "--max-steps", 3)
    assert read_tensors(out)[1]["config"] == metadata["config"]
    table = run("evaluate", "--model", out, "--corpus", sentences, "-n", 2)
    assert re.findall(r"unseen sentences(?:, turned)?", table) == [
        "unseen sentences",
        "unseen sentences, turned",
    ]
    out.unlink()
    run(*train, "--max-steps", 2)
    assert not json.loads(read_tensors(out)[1]["options"])["both_directions"]
    assert "made with config n_decoder_layers = None" in error_of(*command)
    assert "both-directions are for real" in error_of(
        "train", out.with_name("a"), "--both-directions"
    )


def test_a_model_of_other_words_is_refused_with_advice(
    train: list[object],
    out: Path,
    words: list[object],
    tmp_path: Path,
) -> None:
    out.write_bytes(EVERYDAY.read_bytes())
    line = error_of(*train[:4])
    assert line.startswith(f"attention-book: {out}: made with ")
    assert "or a new file" in line
    assert out.read_bytes() == EVERYDAY.read_bytes()
    line = error_of("train", tmp_path, *train[2:4])
    assert f"{tmp_path}: wanted a file, got a folder" in line
    other = tmp_path / "other.tsv"
    lines = [f"{c * 5}\t{c} 词" for c in ascii_lowercase]
    other.write_text("\n".join(lines), "utf-8")
    line = error_of("evaluate", *words, "--corpus", other)
    assert line.startswith(f"attention-book: {other}: unknown words: ")


@pytest.mark.skipif(os.name != "posix", reason="of signals")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_keeps_its_step_and_goes_on_from_it(
    train: list[object],
    out: Path,
    number: signal.Signals,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def interrupted(self: Trainer) -> float:
        if len(self.losses) == 2:
            os.kill(os.getpid(), number)
        return step(self)

    step = Trainer.step
    whole = out.with_name("whole.safetensors")
    run(train[0], whole, *train[2:], "--max-steps", 6)
    command = [*train, "--max-steps", 6, "--save-every", 2]
    monkeypatch.setattr(Trainer, "step", interrupted)
    found = invoke(*command)
    assert found.exit_code == 128 + number
    assert f"{out}: stopped, step 3 is saved; " in found.output
    assert f"attention-book train {out} goes on" in found.output
    monkeypatch.setattr(Trainer, "step", step)
    assert "going on from step 3" in run("train", out, "--device", "cpu")
    tensors, metadata = read_tensors(out)
    wanted, of_whole = read_tensors(whole)
    assert metadata == of_whole
    for name, tensor in wanted.items():
        assert tensor.equal(tensors[name]), name
    run("train", out, "--device", "cpu", "--max-steps", 8)
    assert len(read_tensors(out)[0]["losses"]) == 8


def test_a_second_ctrl_c_ends_a_run_at_once(
    train: list[object], out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(self: Trainer) -> float:
        os.kill(os.getpid(), signal.SIGINT)
        os.kill(os.getpid(), signal.SIGINT)
        return step(self)

    step = Trainer.step
    monkeypatch.setattr(Trainer, "step", interrupted)
    assert "saved" not in invoke(*train).output
    assert len(read_tensors(out)[0]["losses"]) == 0


def test_a_file_that_another_run_keeps_is_refused_or_waited_for(
    train: list[object], out: Path
) -> None:
    command = [*train, "--max-steps", 1]
    kept, free = threading.Event(), threading.Event()

    def keep() -> None:
        with lock(out):
            kept.set()
            free.wait(60)

    other = threading.Thread(target=keep)
    other.start()
    kept.wait(60)
    assert "is being written by another process" in error_of(*command)
    threading.Timer(0.3, free.set).start()
    assert "step 1 " in run(*command, "--wait")
    other.join()


@pytest.mark.slow
@pytest.mark.usefixtures("unchecked")
def test_a_killed_run_ends_as_one_that_was_not(
    train: list[object], out: Path, tmp_path: Path
) -> None:
    options = [*map(str, train[2:])]
    options += ["--max-steps", "40", "--save-every", "5"]
    whole = tmp_path / "whole"
    run("train", whole, *options)
    process = subprocess.Popen(
        [sys.executable, "-m", "attention_book", "train", str(out), *options],
        stdout=subprocess.DEVNULL,
    )
    until = time.monotonic() + 60
    while process.poll() is None and time.monotonic() < until:
        if out.exists() and len(read_tensors(out)[0]["losses"]) >= 5:
            os.kill(process.pid, signal.SIGKILL)
            break
        time.sleep(0.01)
    process.wait()
    assert len(read_tensors(out)[0]["losses"]) >= 5
    run("train", out, *options)
    found, expected = (
        read_tensors(file)[0]["losses"] for file in (out, whole)
    )
    assert torch.equal(found, expected)


def test_evaluate_scores_a_model_of_ones_own(sentences: Path) -> None:
    output = run("evaluate", "--corpus", sentences, "--n", 3)
    assert "unseen sentences" in output
    assert "BLEU" in output


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[Path, int]]:
    """Unseen digits as image files: PNG and JPEG, dark and light ink."""
    folder = tmp_path_factory.mktemp("drawn")
    unseen = load_digits()[1]
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
    lines = invoke("classify", *files).stdout.splitlines()
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


def test_what_is_no_digit_is_one_line(tmp_path: Path) -> None:
    text = tmp_path / "text.png"
    empty = tmp_path / "empty.png"
    text.write_text("no image", "utf-8")
    Image.new("L", (30, 30), 255).save(empty)
    for arguments, said in [
        ([text], f"{text}: wanted an image, got"),
        ([empty], f"{empty}: wanted something dr"),
        ([tmp_path], "wanted an image, got"),
        (["nowhere.png"], "nowhere.png"),
        ([empty, "--model", EVERYDAY], "model"),
    ]:
        assert said in error_of("classify", *arguments)


def test_one_bad_image_does_not_end_the_others(
    drawn: list[tuple[Path, int]],
) -> None:
    good = drawn[3][0]
    found = invoke("classify", good, "nowhere.png", good)
    assert found.exit_code == 1
    assert found.stdout.count(f"{good}: 3 ") == 2
    assert re.fullmatch("attention-book: .*nowhere.png.*\n", found.stderr)


def test_a_sentence_is_explained(words: list[object], tmp_path: Path) -> None:
    said = run("explain", *words, "Tom chases Jerry.")
    assert said.startswith("汤姆追逐杰瑞。\n")
    assert "Jerry 1.00" in said  # the attention of its translation
    html = tmp_path / "tom.html"
    said = run("explain", *words, "Tom chases Jerry.", "--html", html)
    assert said == "汤姆追逐杰瑞。\n"
    page = html.read_text("utf-8")
    assert '<th scope="row">杰瑞</th>' in page
    said = error_of("explain", *words, "Tom chases xyzzy.", "--html", html)
    assert "unknown words: xyzzy" in said
    assert html.read_text("utf-8") == page
    assert "nothing to explain, got 0 words" in error_of("explain", " ")
    found = invoke("explain", "Tom jumped.", "--html", "tom.safetensors")
    assert found.exit_code == 2
    assert "must end in .html" in found.output
    for both in ["Tom jumped.", "--image", "0.png"], []:
        found = invoke("explain", *both)
        assert found.exit_code == 2
        assert "give a sentence or --image" in found.output


def test_an_image_is_explained(
    drawn: list[tuple[Path, int]], tmp_path: Path
) -> None:
    html = tmp_path / "three.html"
    file, label = drawn[3]
    assert run("explain", "--image", file, "--html", html) == f"{label}\n"
    page = html.read_text("utf-8")
    assert page.count("<table>") == 3  # the image, rollout, the effect
    assert page.count("<td") == 3 + 28**2 + 7**2 + 7**2
    assert "Attention rollout" in run("explain", "--image", file)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU here")
@pytest.mark.parametrize(
    "command",
    [
        ["translate"],
        ["classify", "0.png"],
        ["evaluate", "--corpus", "grammar"],
    ],
)
def test_every_command_refuses_a_pipe_and_a_device_that_is_not_there(
    command: list[str], tmp_path: Path
) -> None:
    pipe = tmp_path / "pipe.tsv"
    os.mkfifo(pipe)
    assert f"{pipe}: wanted a file, got a" in error_of("corpus", pipe)
    for option, value, said in [
        ("--model", pipe, f"{pipe}: wanted a file, got a pipe"),
        ("--device", "cuda", "device: wanted cuda, but torch"),
        ("--device", "tpu", "must be auto, cpu, mps, cuda or cuda:N, got 'tp"),
        ("--precision", "tf32", "precision: tf32 is for cuda, got device cpu"),
    ]:
        assert said in error_of(*command, option, value)


def test_version_help_and_wrong_usage() -> None:
    for more in ([], ["--help"]):
        version = attention_book.__version__
        assert run("--version", *more) == f"{version}\n"
    assert "translate" in run("--help")
    assert run("train", "-h") == run("train", "--help")
    assert " [ID]" in run("exercise", "--help")
    assert run("translate", "I love you.", "--beam", 100)
    for option, value in [
        ("--beam", 0),
        ("--beam", 101),
        ("--vocab-size", 258),
        ("--seed", 2**32),
    ]:
        command = "translate" if option == "--beam" else "train"
        assert invoke(command, "a", option, value).exit_code == 2
    found = invoke("translate", "a", "--file", "b")
    assert found.exit_code == 2
    assert "not both" in found.output
