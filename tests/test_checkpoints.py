"""attention_book.io: every model, exact resume, broken files."""

import json
import os
import pickle
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import safetensors
import torch
from torch import nn

from attention_book import (
    Trainer,
    load_checkpoint,
    load_model,
    save_checkpoint,
    save_model,
)
from attention_book.io.progress import fingerprint
from attention_book.io.tensors import (
    open_tensors,
    read_tensors,
    to_int8,
    write_tensors,
)
from attention_book.models.mask_predict import (
    MaskedTransformer,
    MaskedTransformerConfig,
)
from attention_book.models.seq2seq import AttentiveSeq2Seq, Seq2Seq
from attention_book.models.transformer import Transformer
from attention_book.models.vit import ViT
from attention_book.tokenizers.bpe import BPETokenizer
from attention_book.tokenizers.special_tokens import SPECIAL_TOKENS
from attention_book.tokenizers.words import Tokenizer, WordTokenizer
from tests.factories import (
    KINDS,
    SOURCE_WORDS,
    TARGET_WORDS,
    make_config,
    make_examples,
    make_trainer,
    make_transformer,
    make_vit,
)
from tests.factories import TRAINING as CONFIG
from tests.test_training import EXACTLY, assert_same, take_steps, unchanged


ROOT = Path(__file__).parent.parent
posix_only = pytest.mark.skipif(
    os.name != "posix", reason="of POSIX processes and permissions"
)


def make_masked() -> MaskedTransformer:
    config = vars(make_config(target_vocab_size=12)) | {"dropout": 0.4}
    return MaskedTransformer(
        MaskedTransformerConfig(**config, max_target_length=9)
    )


SHARED = {"share_embeddings": True, "target_vocab_size": 13}
SIZES = {"source_vocab_size": 13, "target_vocab_size": 11, "d_model": 6}
TOKEN_INPUTS = (
    torch.tensor([[3, 4, 5]]),
    torch.tensor([3]),
    torch.ones(1, 1).long(),
)
BOTH = (SOURCE_WORDS, TARGET_WORDS)
LABELS = ("零", "one", "2", "<3>", '"4"', "5", "f")
EVERY_MODEL: list[tuple[Callable[[], nn.Module], tuple[Tokenizer, ...], Any]]
EVERY_MODEL = [
    (make_masked, BOTH, ()),
    (lambda: Seq2Seq(**SIZES), BOTH, ()),
    (lambda: AttentiveSeq2Seq(**SIZES), BOTH, ()),
    (make_vit, (), LABELS),
    (lambda: make_vit(n_classes=0, pooling="mean"), (), ()),
    *((partial(make_transformer, **kind), BOTH, ()) for kind in KINDS),
]


@pytest.mark.parametrize(("make", "tokenizers", "labels"), EVERY_MODEL)
def test_every_model_comes_back(
    tmp_path: Path,
    make: Callable[[], nn.Module],
    tokenizers: tuple[WordTokenizer, ...],
    labels: tuple[str, ...],
) -> None:
    torch.manual_seed(0)
    model: Any = make().eval()
    path = tmp_path / "model"
    inputs: Any = TOKEN_INPUTS
    if isinstance(model, ViT):
        inputs = (torch.randn(2, 3, 15, 15),)
    for kept, names in ((tokenizers, labels), ((), ())):
        save_model(path, model, tokenizers=kept, labels=names)
        found = load_model(path)
        assert type(found.model) is type(model)
        assert found.model.config == model.config
        assert not found.model.training
        assert [t.words for t in found.tokenizers] == [t.words for t in kept]
        assert found.labels == names
        assert torch.equal(found.model(*inputs), model(*inputs))
        torch.testing.assert_close(
            found.model.state_dict(), model.state_dict(), **EXACTLY
        )
    save_model(path, model, dtype=torch.float16)
    tensors, _ = read_tensors(path)
    assert {t.dtype for t in tensors.values()} == {torch.float16}
    half = [*load_model(path).model.parameters()]
    wanted = [p.half().float() for p in model.parameters()]
    torch.testing.assert_close(half, wanted, **EXACTLY)


def test_int8_is_off_by_half_a_step_at_most(tmp_path: Path) -> None:
    path = tmp_path / "model"
    model = make_transformer()
    with torch.no_grad():  # a row of zeros has no largest number
        model.source_embedding.tokens.weight[1] = 0
    save_model(path, model, dtype=torch.int8)
    with safetensors.safe_open(path, "pt") as file:
        kinds = {name: file.get_tensor(name).dtype for name in file.keys()}  # noqa: SIM118
    small = load_model(path).model
    for name, p in model.named_parameters():
        found = dict(small.named_parameters())[name]
        if p.ndim == 2:
            assert kinds[f"model.{name}"] == torch.int8
            step = p.abs().amax(dim=1, keepdim=True) / 127
            assert ((found - p).abs() <= 0.5001 * step).all()
            assert not torch.equal(found, p)
        else:
            torch.testing.assert_close(found, p.half().float(), **EXACTLY)
    tensors, metadata = read_tensors(path)
    assert not [name for name in tensors if name.endswith(".scale")]
    name = "model.target_embedding.tokens.weight"
    for scale in None, torch.ones(2), torch.ones(11, dtype=torch.int8):
        changed = to_int8({name: tensors[name]})
        changed[f"{name}.scale"] = scale
        write_tensors(
            path,
            {k: x for k, x in changed.items() if x is not None},
            metadata,
        )
        with pytest.raises(ValueError, match=rf"{name}\.scale' with 11 num"):
            read_tensors(path)


def test_subwords_are_kept_with_the_model(tmp_path: Path) -> None:
    subwords = BPETokenizer.train(["low lower lowest"] * 3, 262)
    n = len(subwords)
    path = tmp_path / "model"
    mixed = make_transformer(source_vocab_size=n)
    shared = make_transformer(
        source_vocab_size=n, target_vocab_size=n, share_embeddings=True
    )
    save_model(path, shared, tokenizers=(subwords, subwords))
    again, (source, target), _ = load_model(path)
    assert again.source_embedding is again.target_embedding
    assert source is target
    assert source.encode("lower <eos>") == subwords.encode("lower <eos>")
    save_model(path, mixed, tokenizers=(subwords, TARGET_WORDS))
    source, target = load_model(path).tokenizers
    assert isinstance(source, BPETokenizer)
    assert isinstance(target, WordTokenizer)


class Translator(Transformer):
    """A class that is not in the package."""


class Transducer(Tokenizer):
    """A tokenizer that is not in the package."""

    def __len__(self) -> int:
        return 13


@pytest.mark.parametrize(
    ("make", "options", "message"),
    [
        (
            lambda: Translator(make_config()),
            {},
            "model must be a .*, got a Translator$",
        ),
        (
            make_transformer,
            {"tokenizers": (Transducer(), TARGET_WORDS)},
            "tokenizer must be a WordTokenizer or a .*, got Transducer$",
        ),
        (  # its last token id is that of <mask>
            make_masked,
            {
                "tokenizers": (
                    SOURCE_WORDS,
                    WordTokenizer([*TARGET_WORDS.words, "i"]),
                )
            },
            r"tokenizers must have .* \[13, 11\], got \[13, 12\]$",
        ),
        (
            make_vit,
            {"tokenizers": (SOURCE_WORDS, TARGET_WORDS)},
            r"tokenizers must have vocabularies of \[\], got \[13, 11\]$",
        ),
        (make_vit, {"labels": LABELS[:3]}, "labels must be 7, got 3$"),
    ],
)
def test_what_can_not_be_saved_is_named(
    tmp_path: Path,
    make: Callable[[], nn.Module],
    options: dict[str, Any],
    message: str,
) -> None:
    with pytest.raises(ValueError, match=message):
        save_model(tmp_path / "model", make(), **options)
    assert not list(tmp_path.iterdir())


def rewrite(path: Path, **metadata: str) -> None:
    """Write the file again, with other metadata."""
    tensors, old = read_tensors(path)
    write_tensors(path, tensors, old | metadata)


SMALL = json.dumps([json.dumps({"words": [*SPECIAL_TOKENS, "a", "b"]})] * 2)


@pytest.mark.parametrize(
    ("metadata", "message"),
    [
        ({"model": "\x1b[31m"}, "wanted a .*, ViT, got \ufffd\\[31m$"),
        ({"model": "ViT"}, "is no model of ours: .*source_vocab_size"),
        ({"tokenizers": "not JSON"}, "is no model of ours"),
        ({"tokenizers": '["{}"]'}, "has no 'merges'$"),
        ({"tokenizer_of": "[0, 7]"}, "is no model of ours"),
        ({"tokenizers": SMALL}, r".* \[13, 11\], got \[5, 5\]$"),
        ({"labels": '["a"]'}, ".* labels must be 0, got 1$"),
    ],
)
def test_metadata_that_is_not_a_models(
    saved: Path, metadata: dict[str, str], message: str
) -> None:
    rewrite(saved, **metadata)
    with pytest.raises(
        ValueError, match=f"^{re.escape(str(saved))}: {message}"
    ):
        load_model(saved)


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    path = tmp_path / "checkpoint.safetensors"
    save_checkpoint(path, take_steps(make_trainer(), 2), BOTH)
    return path


def test_a_checkpoint_is_a_model_too(saved: Path) -> None:
    model, tokenizers, labels = load_model(saved)
    trained = take_steps(make_trainer(), 2).model
    torch.testing.assert_close(
        model.state_dict(), trained.state_dict(), **EXACTLY
    )
    assert [t.words for t in tokenizers] == [t.words for t in BOTH]
    assert labels == ()


@pytest.mark.parametrize(
    ("options", "changes"),
    [
        ({"accumulation_steps": 2}, {"dropout": 0.2}),
        ({"schedule": "inverse_sqrt"}, {"positions": "learned"}),
        ({"precision": "bf16"}, {"norm": "pre"}),
        ({"precision": "fp16"}, {"norm": "pre"}),
        ({"label_smoothing": 0.1}, SHARED),
    ],
)
def test_resuming_is_exact(
    tmp_path: Path,
    options: dict[str, Any],
    changes: dict[str, Any],
    unchecked: None,
) -> None:
    config = replace(CONFIG, **options)
    path = tmp_path / "checkpoint"
    n = 12
    whole = take_steps(make_trainer(config, **changes), n)
    epoch = len(whole.batches)
    # it goes on into another epoch
    assert epoch < n * config.accumulation_steps
    for cut in 0, 1, epoch // config.accumulation_steps, n - 1:
        first = take_steps(make_trainer(config, **changes), cut)
        save_checkpoint(path, first)
        second = make_trainer(config, **changes)
        with torch.no_grad():
            for parameter in second.model.parameters():
                parameter.add_(1)
        load_checkpoint(path, second)
        assert_same(second, first)
        assert second.scaler.state_dict() == first.scaler.state_dict()
        assert_same(take_steps(second, n - cut), whole)


@posix_only
@pytest.mark.slow
def test_twenty_kills_of_a_training_lose_nothing(tmp_path: Path) -> None:
    script = ROOT / "tests/killed_worker.py"
    done = subprocess.run(
        [sys.executable, script, tmp_path, "20"],
        env=os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert (done.returncode, done.stderr) == (0, "")
    *runs, left, cut_result, whole_result = map(
        json.loads, done.stdout.split("\n")
    )
    assert all(run["refused"] for run in runs[:20])
    last = 0
    for run in runs:
        first, *_ = said = run["said"]
        assert first in (last, last + 1)  # it may have died before it said so
        assert said == list(range(first, first + len(said)))
        last = said[-1]
    assert left["left"] == ["cut", "whole"]  # no lock, no half a file
    assert cut_result == whole_result


FULL = """
import resource, signal, sys
import torch
from attention_book.io.tensors import write_tensors
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
path = sys.argv[1]
write_tensors(path, {"x": torch.zeros(10)}, {"n": "old"})
resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000))
try:
    write_tensors(path, {"x": torch.zeros(9000)}, {"n": "new"})
except OSError as error:
    sys.stdout.write(f"{error}")
"""


@posix_only
@pytest.mark.slow
def test_a_full_disk_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "checkpoint"
    done = subprocess.run(
        [sys.executable, "-c", FULL, path],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.startswith(f"{path}: could not be written: ")
    assert "\n" not in done.stdout
    assert [*tmp_path.iterdir()] == [path]
    tensors, metadata = read_tensors(path)
    assert (len(tensors["x"]), metadata) == (10, {"n": "old"})


def test_two_writers_of_one_file_do_not_mix(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "checkpoint"
    fsync = os.fsync

    def another_writes(file: int) -> None:
        monkeypatch.setattr(os, "fsync", fsync)
        write_tensors(path, {"x": torch.ones(3)}, {"n": "second"})
        fsync(file)

    monkeypatch.setattr(os, "fsync", another_writes)
    write_tensors(path, {"x": torch.zeros(9)}, {"n": "first"})
    tensors, metadata = read_tensors(path)
    assert (len(tensors["x"]), metadata) == (9, {"n": "first"})
    assert [*tmp_path.iterdir()] == [path]


def test_what_is_saved_is_on_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The numbers before the name."""
    log: list[object] = []
    replace = os.replace

    def rename(old: Path, new: Path) -> None:
        log.append("rename")
        replace(old, new)

    def note(file: int) -> None:
        log.append(os.fstat(file).st_size)

    monkeypatch.setattr(os, "fsync", note)
    monkeypatch.setattr(os, "replace", rename)
    path = tmp_path / "x"
    write_tensors(path, {"x": torch.ones(3)}, {})
    assert log == [path.stat().st_size, "rename"]


def assert_refused(path: Path, *, match: str = ".") -> None:
    """Refused in one line with the path; the trainer stays as it was."""
    trainer = take_steps(make_trainer(), 1)
    for load in (
        lambda: read_tensors(path),
        lambda: load_model(path),
        lambda: load_checkpoint(path, trainer),
    ):
        with (
            unchanged(trainer),
            pytest.raises(ValueError, match=match) as error,
        ):
            load()
        message = str(error.value)
        assert message.startswith(f"{path}: ")
        assert "\n" not in message
        assert type(error.value) is ValueError


class Bomb:
    """Unpickled, it leaves a file behind."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.path,)


def test_a_pickle_is_refused_and_never_run(tmp_path: Path) -> None:
    path = tmp_path / "model.pt"
    traces = tmp_path / "traces"
    bomb = {"bomb": Bomb(traces), "x": torch.zeros(3)}
    torch.save(bomb, path)
    assert_refused(path)
    path.write_bytes(pickle.dumps(bomb))
    assert_refused(path)
    assert not traces.exists()
    pickle.loads(path.read_bytes())  # noqa: S301
    assert traces.exists()  # it was a real bomb


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (
            lambda: make_trainer(n_layers=1),
            "made with config n_layers = 2, wanted 1$",
        ),
        (
            lambda: make_trainer(replace(CONFIG, seed=1)),
            "made with training seed = 0, wanted 1$",
        ),
        (
            lambda: make_trainer(examples=make_examples(16)),
            "made with corpus digest = '[0-9a-f]{64}', wanted ",
        ),
    ],
)
def test_a_checkpoint_of_something_else(
    saved: Path, other: Callable[[], Trainer], message: str
) -> None:
    trainer = take_steps(other(), 1)
    wanted = f"^{re.escape(str(saved))}: .*{message}"
    with unchanged(trainer), pytest.raises(ValueError, match=wanted):
        load_checkpoint(saved, trainer)


def test_a_run_may_be_made_longer_and_not_shorter(tmp_path: Path) -> None:
    path = tmp_path / "checkpoint.safetensors"
    short = replace(CONFIG, schedule="inverse_sqrt", max_steps=2)
    save_checkpoint(path, take_steps(make_trainer(short), 2), BOTH)
    longer = make_trainer(replace(short, max_steps=5))
    load_checkpoint(path, longer)
    wanted = take_steps(make_trainer(replace(short, max_steps=5)), 5)
    assert_same(take_steps(longer, 3), wanted)
    save_checkpoint(path, take_steps(make_trainer(), 2), BOTH)
    load_checkpoint(path, make_trainer(replace(CONFIG, max_steps=21)))
    with pytest.raises(ValueError, match="max_steps = 20, wanted 19"):
        load_checkpoint(path, make_trainer(replace(CONFIG, max_steps=19)))


def test_a_model_is_no_checkpoint(tmp_path: Path) -> None:
    path = tmp_path / "model"
    trainer = make_trainer()
    save_model(path, trainer.model, tokenizers=BOTH)
    message = "training max_steps = None, wanted 20"
    with pytest.raises(ValueError, match=message):
        load_checkpoint(path, trainer)
    rewrite(path, **fingerprint(trainer))
    with pytest.raises(ValueError, match=r"has no 'losses'$"):
        load_checkpoint(path, trainer)


@pytest.mark.parametrize("kind", ["model", "optimizer"])
def test_a_tensor_that_is_missing_or_misshapen(saved: Path, kind: str) -> None:
    trainer = take_steps(make_trainer(), 1)
    *_, last = dict(trainer.model.named_parameters())
    name = f"model.{last}"
    if kind == "optimizer":
        name = f"optimizer.{last}.exp_avg_sq"
    tensors, metadata = read_tensors(saved)
    del tensors[name]
    for changes, got in ({}, "none"), ({name: torch.zeros(23)}, r"\(23,\)"):
        write_tensors(saved, tensors | changes, metadata)
        message = rf"wanted {name} of shape \(24,\), got {got}"
        with unchanged(trainer), pytest.raises(ValueError, match=message):
            load_checkpoint(saved, trainer)
        if kind == "model":
            with pytest.raises(ValueError, match=message):
                load_model(saved)


@posix_only
@pytest.mark.parametrize("mask", [0o022, 0o077])
def test_the_file_may_be_read_by_whom_the_umask_lets(
    tmp_path: Path, mask: int
) -> None:
    old = os.umask(mask)
    try:
        write_tensors(tmp_path / "x", {"x": torch.zeros(1)}, {})
    finally:
        os.umask(old)
    assert (tmp_path / "x").stat().st_mode & 0o777 == 0o666 & ~mask


def test_a_file_that_is_replaced_while_it_is_read(saved: Path) -> None:
    # Whoever opens it twice may find two files.
    expected, _ = read_tensors(saved)
    with open_tensors(saved) as file:
        write_tensors(saved, {"x": torch.zeros(9)}, {"n": "new"})
        found = {name: file.get_tensor(name) for name in file.tensors}
    torch.testing.assert_close(found, expected, **EXACTLY)
    assert read_tensors(saved)[1] == {"n": "new"}
