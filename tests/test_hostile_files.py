"""Files that nobody should load: refused in one line, quickly, in little memory.

Mutants of files of the package are made with their structure in mind: headers,
offsets, dtypes, shapes, numbers, configurations, vocabularies, labels.
"""

import json
import math
import os
import random
import re
import struct
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click.testing
import pytest
import torch
from PIL import Image
from safetensors.torch import save_file
from typer.main import get_command

from attention_book import (
    load_checkpoint,
    load_model,
    save_checkpoint,
    save_model,
)
from attention_book.cli.app import app
from attention_book.io.files import lock
from attention_book.io.pretrained.vit import load_vit
from attention_book.io.tensors import read_tensors, write_tensors
from attention_book.tokenizers.special_tokens import SPECIAL_TOKENS
from attention_book.tokenizers.words import WordTokenizer
from tests.factories import (
    SOURCE_WORDS,
    TARGET_WORDS,
    make_random_vit,
    make_trainer,
    make_transformer,
    make_vit,
)
from tests.test_images import timm_state
from tests.test_training import take_steps


MOST = 64 * 2**20  # bytes that a file may take before it is refused


class File:
    """A safetensors file, taken apart."""

    def __init__(self, data: bytes) -> None:
        (n,) = struct.unpack("<Q", data[:8])
        self.entries: Any = json.loads(data[8 : 8 + n])
        self.metadata: Any = self.entries.pop("__metadata__", {})
        self.numbers = bytearray(data[8 + n :])
        self.header = b""  # if it is not what the entries say

    def pick(self, rng: random.Random) -> Any:
        return self.entries[rng.choice(sorted(self.entries))]

    def pack(self) -> bytes:
        header = self.header
        if not header:
            whole = {"__metadata__": self.metadata} | self.entries
            header = json.dumps(whole).encode()
            header += b" " * (-len(header) % 8)
        return struct.pack("<Q", len(header)) + header + bytes(self.numbers)


DEEP = "[" * 100_000
ODD: list[Any] = [
    *(0, -1, 1.5, True, None, "7", "", [], {}, 10**9, 10**30, -(10**12)),
    *(math.nan, math.inf, -math.inf, [[[]]], "\x1b[31m", 2**63, 1e308),
]
ODD_TEXTS: list[Any] = [
    *("\x1b[31mred\x1b[0m", "a\nb", "a\rb", "", "\x00", "\u202eabc", "\u2028"),
    *(None, 3, [], ["a"], {"a": 1}, True, "x" * 100_000, "\x9b31m", "\x07"),
]
ODD_FIELDS: dict[str, list[Any]] = {  # of a tensor, for safetensors to refuse
    "dtype": ["BOOL", "I8", "F8_E4M3", "C64", "f32", "\x1b[31m", None, []],
    "shape": [[], [-1], ["2"], [10**18], [2**62, 4], None, [0, 2**60]],
    "data_offsets": [[], [0, 0], [8, 0], [0, 10**18], ["0", "4"], None, {}],
}


def numbers(file: File, rng: random.Random) -> None:
    entry = file.pick(rng)
    start, end = entry["data_offsets"]
    kinds = {"F16": "e", "F32": "f", "F64": "d"}
    kind = kinds[entry["dtype"]]
    size = struct.calcsize(kind)
    at = start + size * rng.randrange((end - start) // size or 1)
    wrong = rng.choice([math.nan, math.inf, -math.inf])
    file.numbers[at : at + size] = struct.pack("<" + kind, wrong)


def dtypes(file: File, rng: random.Random) -> None:
    """Say that there are other numbers, which fit."""
    entry = file.pick(rng)
    sizes = {"BOOL": 1, "I8": 1, "U8": 1, "I16": 2, "I64": 8, "C64": 8}
    entry["dtype"] = rng.choice(sorted(sizes))
    start, end = entry["data_offsets"]
    entry["shape"] = [(end - start) // sizes[entry["dtype"]]]


def fields(file: File, rng: random.Random) -> None:
    entry = file.pick(rng)
    kind = rng.choice(sorted(entry))
    odd = [x for x in ODD_FIELDS[kind] if x != entry[kind]]
    entry[kind] = rng.choice(odd)


def shapes(file: File, rng: random.Random) -> None:
    """Say that the numbers have another shape, of the same size."""
    entry = rng.choice([x for x in file.entries.values() if x["shape"]])
    entry["shape"] = rng.choice([[1, *entry["shape"]], [*entry["shape"], 1]])


def entries(file: File, rng: random.Random) -> None:
    name = rng.choice(sorted(file.entries))
    how = rng.randrange(5)
    if how == 0:
        del file.entries[name]
    elif how == 1:
        new = rng.choice(["model.x", "\x1b[31m", "", f"{name}.", "__metadata"])
        file.entries[new] = file.entries.pop(name)
    elif how == 2:
        end = len(file.numbers)
        new = rng.choice(["extra", "model.extra", "\x1b[31m", "optimizer.x"])
        info = {"dtype": "F32", "shape": [1], "data_offsets": [end, end + 4]}
        file.entries[new] = info
        file.numbers += bytes(4)
    elif how == 3:
        file.entries[name] = rng.choice([None, 3, [], "x", {}, True])
    else:
        del file.entries[name][rng.choice(sorted(file.entries[name]))]


def headers(file: File, rng: random.Random) -> None:
    data = file.pack()
    (n,) = struct.unpack("<Q", data[:8])
    header = data[8 : 8 + n]
    deep = rng.choice(["[", '{"a":', '{"__metadata__":', "[[],"])
    many = rng.choice([b"[],", b"{},", b'"",', b"1.5,", b"1000,"])
    file.header = rng.choice(
        [
            rng.choice([b" ", b"{}", b"[]", b"3", b"null", b'"x"']),
            (deep * 100_000).encode(),
            b'{"a":[' + many * 600_000 + b"0]}",
            header.replace(b'"shape"', b'"\xff"'),
            header[: rng.randrange(1, len(header) - 8)],
            b"\xef\xbb\xbf" + header,
            header.strip() + b"{}",
        ]
    )


def lengths(file: File, rng: random.Random) -> bytes:
    """Cut at every kind of place, or lie about the header's length."""
    data = file.pack()
    (n,) = struct.unpack("<Q", data[:8])
    ends = [0, 1, 7, 8, 9, 8 + n - 1, 8 + n, 8 + n + 1, len(data) - 1]
    how = rng.randrange(4)
    if how == 0:
        return data[: rng.choice(ends)]
    if how == 1:
        return data[: rng.randrange(len(data))]
    if how == 2:
        return data + b"\0" * rng.choice([1, 8, 4096])
    lies = [0, 1, n - 1, n + 1, 2**32, 2**63, 2**64 - 1, 2**24 + 1, len(data)]
    return struct.pack("<Q", rng.choice(lies)) + data[8:]


def configurations(file: File, rng: random.Random) -> None:
    config = json.loads(file.metadata["config"])
    how = rng.randrange(7)
    key = rng.choice(sorted(config))
    if how < 5:
        config[key] = rng.choice([x for x in ODD if x != config[key]])
    else:
        config[rng.choice(["\x1b[31m", "", "vocab", "x" * 10_000])] = 3
    wrong = ["3", "null", "[]", '"x"', "", DEEP, "[" + "0," * 10**6]
    text = json.dumps(config) if how < 6 else rng.choice(wrong)
    file.metadata["config"] = text


def layers(file: File, rng: random.Random) -> None:
    huge = rng.choice([10**4, 10**6, 10**9, 10**18])
    keys = ["n_layers", "d_model", "d_ff", "source_vocab_size", "image_size"]
    config = json.loads(file.metadata["config"])
    config[rng.choice([key for key in keys if key in config])] = huge
    file.metadata["config"] = json.dumps(config)


def vocabularies(file: File, rng: random.Random) -> None:
    texts = json.loads(file.metadata["tokenizers"])
    how = rng.randrange(5)
    if how == 0 or not texts:
        wrong = ["3", "null", "{}", '[""]', '["{}"]', DEEP, '["[[["]', "[7]"]
        file.metadata["tokenizers"] = rng.choice(wrong)
        return
    if how == 1:
        owners = ["[0,9]", "[0]", '["0","1"]', "3", "[0.5,1]", DEEP]
        file.metadata["tokenizer_of"] = rng.choice(owners)
        return
    at = rng.randrange(len(texts))
    words = json.loads(texts[at])["words"]
    if how == 2:
        words[rng.randrange(len(words))] = rng.choice(ODD_TEXTS)
    elif how == 3:
        words[-1] = words[0]
    else:
        whole = [words[:-1], [*words, "new"], words[::-1], [words], "abc", 3]
        words = rng.choice(whole)
    texts[at] = json.dumps({"words": words})
    file.metadata["tokenizers"] = json.dumps(texts)


def labels(file: File, rng: random.Random) -> None:
    found = json.loads(file.metadata["labels"]) or ["a"]
    found[rng.randrange(len(found))] = rng.choice(ODD_TEXTS)
    whole = [json.dumps(found), "3", "null", "{}", '"01234"', DEEP, "[" * 9]
    whole += [json.dumps(["a"] * 10**5)]
    file.metadata["labels"] = rng.choice(whole[:1] * 8 + whole)


def texts(file: File, rng: random.Random) -> None:
    key = rng.choice(["model", "config", "tokenizers", "labels"])
    how = rng.randrange(4)
    if how == 0:
        del file.metadata[key]
    elif how == 1:
        file.metadata[key] = rng.choice([3, None, [], {}, True])
    elif how == 2:
        names = ["", "\x1b[31m", "x" * 10**5, "Sequ"]
        file.metadata["model"] = rng.choice(names)
    else:
        wrong: list[Any] = [None, 3, [], "x"]
        file.metadata = rng.choice(wrong)


def other_class(file: File, rng: random.Random) -> None:
    names = ["Transformer", "MaskedTransformer", "Seq2Seq", "ViT"]
    names.remove(file.metadata["model"])
    file.metadata["model"] = rng.choice(names)


MUTATIONS: list[Callable[[File, random.Random], Any]] = [
    *(numbers, dtypes, fields, shapes, entries, headers, lengths),
    *(configurations, configurations, layers, vocabularies, labels, texts),
    other_class,
]


@pytest.fixture(scope="module")
def originals(
    tmp_path_factory: pytest.TempPathFactory,
) -> list[tuple[bytes, Callable[[Path], object]]]:
    """Files of each kind, with what loads them."""
    folder = tmp_path_factory.mktemp("originals")
    runner, built = click.testing.CliRunner(), get_command(app)

    def command(*words: str) -> Callable[[Path], object]:
        """The command, as main calls it; raises what main would report."""

        def load(path: Path) -> str:
            found = runner.invoke(built, [*words, "--model", str(path)])
            if found.exception:
                raise found.exception
            return found.output

        return load

    transformer = make_transformer()
    save_model(
        folder / "0", transformer, tokenizers=(SOURCE_WORDS, TARGET_WORDS)
    )
    classifier = make_vit(n_channels=1, n_classes=5)
    save_model(folder / "1", classifier, labels=tuple("abcde"))
    trainer = take_steps(make_trainer(), 2)
    save_checkpoint(folder / "2", trainer, (SOURCE_WORDS, TARGET_WORDS))
    timm = timm_state(make_random_vit()).items()
    save_file({k: x.contiguous() for k, x in timm}, folder / "3")
    picture = folder / "drawn.png"
    drawn = Image.new("L", (15, 15), 255)
    drawn.paste(0, (6, 2, 9, 13))
    drawn.save(picture)
    loaders: list[Callable[[Path], object]] = [
        command("translate", "a b"),
        command("classify", str(picture)),
        lambda path: load_checkpoint(path, trainer),
        lambda path: load_vit(path, n_heads=4),
    ]
    return [
        ((folder / str(i)).read_bytes(), load)
        for i, load in enumerate(loaders)
    ]


class Memory:
    """How much memory this process had at its most, and at the start."""

    def __init__(self) -> None:
        self.forget()
        self.start = self.peak()

    def forget(self) -> None:
        """From now on the peak is what is in use now."""
        if sys.platform == "linux":
            Path("/proc/self/clear_refs").write_text("5")

    def peak(self) -> int:
        if sys.platform != "linux":
            return 0
        text = Path("/proc/self/status").read_text()
        return 1024 * int(text.split("VmHWM:")[1].split()[0])


def refusal_of(load: Callable[[Path], object], path: Path) -> str:
    """The one line that refuses a file; nothing if it is accepted."""
    try:
        shown = load(path)
    except (ArithmeticError, ImportError, OSError, ValueError) as error:
        line = str(error)
        assert line.isprintable(), line
        assert len(line) < 1000, line
        assert line.startswith(f"{path}: "), line
        return line
    assert str(shown).replace("\n", "").isprintable()
    return ""


@pytest.mark.parametrize(
    "n_files", [100, pytest.param(1000, marks=pytest.mark.slow)]
)
def test_mutants_are_refused_in_one_line(
    n_files: int,
    originals: list[tuple[bytes, Callable[[Path], object]]],
    tmp_path: Path,
    unchecked: None,
) -> None:
    rng = random.Random(n_files)
    path = tmp_path / "mutant"
    for data, load in originals:
        path.write_bytes(data)
        refusal_of(load, path)  # imports what is imported late
    memory = Memory()
    for number in range(n_files):
        mutate = MUTATIONS[number % len(MUTATIONS)]
        while True:
            data, load = rng.choice(originals)
            file = File(data)
            if file.metadata.get("config") or mutate in MUTATIONS[:7]:
                break
        cut = mutate(file, rng)
        path.write_bytes(cut if mutate is lengths else file.pack())
        memory.forget()
        line = refusal_of(load, path)
        assert line, (number, mutate.__name__, file.metadata)
        growth = memory.peak() - memory.start
        assert growth <= MOST, (number, mutate.__name__, line)


def special(folder: Path, kind: str) -> Path:
    """Something that is no file."""
    path = folder / kind
    if kind == "folder":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind == "device":
        return Path("/dev/zero")
    else:
        path.symlink_to(path)
    return path


LOADERS: list[Callable[[Path], object]] = [
    load_model,
    read_tensors,
    load_vit,
    lambda path: load_checkpoint(path, make_trainer()),
]


@pytest.mark.skipif(sys.platform != "linux", reason="has not all of them")
@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("folder", "wanted a file, got a folder$"),
        ("pipe", "wanted a file, got a pipe$"),
        ("device", "wanted a file, got a device$"),
        ("loop", "Too many levels of symbolic links"),
    ],
)
def test_what_is_no_file_is_neither_read_nor_written(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    kind: str,
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)  # names of sockets are short
    path = special(Path(), kind)
    for load in LOADERS:
        with pytest.raises(OSError, match=message):
            load(path)
    before = [*Path().iterdir()]
    with pytest.raises(OSError, match=message):
        write_tensors(path, {"x": torch.zeros(2)}, {})
    with pytest.raises(OSError, match=message), lock(path):
        raise AssertionError("it was locked")
    link = Path("link")
    link.symlink_to(path)
    with pytest.raises(OSError, match=message):
        write_tensors(link, {"x": torch.zeros(2)}, {})
    link.unlink()
    assert [*Path().iterdir()] == before


def test_a_link_stays_and_its_target_is_written(tmp_path: Path) -> None:
    (tmp_path / "far").mkdir()
    target = tmp_path / "far/target"
    link = tmp_path / "link"
    link.symlink_to(Path("far/target"))
    for n in 2, 3:  # first it is made, then replaced
        with lock(link):
            write_tensors(link, {"x": torch.zeros(n)}, {})
            assert (tmp_path / "far/target.lock").exists()
        assert link.is_symlink()
        assert len(read_tensors(target)[0]["x"]) == n
    assert [*(tmp_path / "far").iterdir()] == [target]


@pytest.mark.skipif(os.name != "posix", reason="of POSIX permissions")
def test_a_file_keeps_its_permissions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "x"
    write_tensors(path, {"x": torch.zeros(1)}, {})
    path.chmod(0o640)
    write_tensors(path, {"x": torch.zeros(2)}, {})
    assert path.stat().st_mode & 0o777 == 0o640
    path.chmod(0o444)
    monkeypatch.setattr(os, "access", lambda *_: False)  # even for root
    with pytest.raises(
        PermissionError, match=f"^{re.escape(str(path))}: .* it is read-only$"
    ):
        write_tensors(path, {"x": torch.zeros(3)}, {})
    assert len(read_tensors(path)[0]["x"]) == 2


def test_what_could_not_be_read_is_not_written(tmp_path: Path) -> None:
    path = tmp_path / "x"
    for tensor, message in (
        (torch.tensor([2]), "wanted .*in 'x', got torch.int64"),
        (torch.tensor([1, math.nan]), "wanted finite numbers in 'x'"),
        (torch.tensor([1e300]).double(), "wanted finite numbers in 'x'"),
        (torch.tensor([1e300], dtype=torch.float64), "wanted finite numbers"),
    ):
        message = f"^{re.escape(str(path))}: not written: {message}"
        with pytest.raises(ValueError, match=message):
            write_tensors(path, {"x": tensor}, {})
    evil = WordTokenizer([*SPECIAL_TOKENS, *"abcdefghi", "\x1b[31m"])
    with pytest.raises(ValueError, match="words must be printable"):
        save_model(path, make_transformer(), tokenizers=(evil, TARGET_WORDS))
    assert not [*tmp_path.iterdir()]


def test_a_lock_is_kept_once_and_leaves_nothing(tmp_path: Path) -> None:
    path = tmp_path / "model"
    stale = tmp_path / "model.0123abcd.part"
    names = "model.part", "model.x.part", "other.0123abcd.part"
    others = [tmp_path / name for name in names]
    for file in (stale, *others, tmp_path / "model.lock"):  # of killed runs
        file.write_text("left")
    for _ in range(2):
        with lock(path):
            assert not stale.exists()
            wanted = f"^{re.escape(str(path))}: is being written by another process$"
            with pytest.raises(BlockingIOError, match=wanted), lock(path):
                raise AssertionError("it was locked twice")
        assert sorted(tmp_path.iterdir()) == others
    with (
        pytest.raises(FileNotFoundError, match="there is no folder"),
        lock(tmp_path / "none/model"),
    ):
        raise AssertionError("it was locked")
    assert not (tmp_path / "none").exists()
