"""attention_book.training against plain PyTorch, broken files, a killer."""

import copy
import json
import math
import os
import pickle
import random
import struct
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from safetensors.torch import save_file

from attention_book import training
from attention_book.checkpoints import (
    load_checkpoint,
    load_model,
    read_tensors,
    save_checkpoint,
    save_model,
    write_tensors,
)
from attention_book.corpus import PAD, SPECIAL_TOKENS, WordTokenizer
from attention_book.losses import CHUNK_SIZE, chunked_cross_entropy
from attention_book.texts import BPETokenizer
from attention_book.training import (
    BatchLoader,
    Example,
    Trainer,
    TrainingConfig,
    encode_pairs,
    learning_rate_at,
    make_batch,
    translation_loss,
    validation_loss,
)
from attention_book.transformer import Transformer, TransformerConfig


ROOT = Path(__file__).parent.parent
CPU = torch.device("cpu")
SMALL: dict[str, Any] = {
    "source_vocab_size": 13,
    "target_vocab_size": 11,
    "d_model": 12,
    "n_heads": 2,
    "d_ff": 20,
    "n_layers": 2,
    "dropout": 0.0,
}
SOURCE = WordTokenizer([*SPECIAL_TOKENS, *"abcdefghij"])
TARGET = WordTokenizer([*SPECIAL_TOKENS, *"abcdefgh"])
CONFIG = TrainingConfig(
    max_steps=20, batch_tokens=21, warmup_steps=3, learning_rate=1e-2
)


def a_model(**changes: Any) -> Transformer:
    torch.manual_seed(1)
    return Transformer(TransformerConfig(**SMALL | changes))


def some_examples(n: int = 17) -> list[Example]:
    rng = random.Random(2)

    def words(most: int) -> list[int]:
        return [rng.randrange(3, 11) for _ in range(rng.randint(1, most))]

    return [(words(7), [1, *words(5), 2]) for _ in range(n)]


def a_trainer(config: TrainingConfig = CONFIG, **changes: Any) -> Trainer:
    return Trainer(a_model(**changes), some_examples(), config)


def state_of(trainer: Trainer) -> list[torch.Tensor]:
    state = trainer.optimizer.state_dict()["state"]
    kinds = [value for kinds in state.values() for value in kinds.values()]
    tensors = [*trainer.model.parameters(), *kinds]
    return [tensor.detach().clone() for tensor in tensors]


def assert_same(one: Trainer, other: Trainer) -> None:
    assert one.losses == other.losses
    pairs = zip(state_of(one), state_of(other), strict=True)
    assert all(torch.equal(a, b) for a, b in pairs)


def steps(trainer: Trainer, n: int) -> Trainer:
    for _ in range(n):
        trainer.step()
    return trainer


@pytest.mark.parametrize("label_smoothing", [0.0, 0.1])
@pytest.mark.parametrize("n", [1, 7, CHUNK_SIZE, 2 * CHUNK_SIZE + 3])
def test_cross_entropy_equals_pytorch(n: int, label_smoothing: float) -> None:
    torch.manual_seed(0)
    x = torch.randn(n, 5, requires_grad=True)
    weight = torch.randn(11, 5, requires_grad=True)
    words = torch.randint(11, (n,))
    ours = chunked_cross_entropy(x, weight, words, label_smoothing)
    theirs = F.cross_entropy(
        x @ weight.T, words, label_smoothing=label_smoothing
    )
    torch.testing.assert_close(ours, theirs)
    for a, b in zip(
        torch.autograd.grad(3 * ours, (x, weight)),
        torch.autograd.grad(3 * theirs, (x, weight)),
        strict=True,
    ):
        torch.testing.assert_close(a, b)


def test_cross_entropy_has_the_right_slopes_in_double() -> None:
    torch.manual_seed(0)
    x = torch.randn(CHUNK_SIZE + 2, 2, dtype=torch.double) * 40  # far from 0
    weight = torch.randn(3, 2, dtype=torch.double)
    words = torch.randint(3, (CHUNK_SIZE + 2,))
    inputs = [x.requires_grad_(), weight.requires_grad_()]
    ours = chunked_cross_entropy(*inputs, words, 0.1)
    theirs = F.cross_entropy(x @ weight.T, words, label_smoothing=0.1)
    torch.testing.assert_close(ours.double(), theirs, rtol=1e-5, atol=0)
    for a, b in zip(
        torch.autograd.grad(ours, inputs),
        torch.autograd.grad(theirs, inputs),
        strict=True,
    ):
        assert a.dtype == torch.double
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-7)


def test_cross_entropy_is_close_in_bf16() -> None:
    torch.manual_seed(0)
    x = torch.randn(300, 16, requires_grad=True)
    weight = torch.randn(11, 16, requires_grad=True)
    words = torch.randint(11, (300,))
    with torch.autocast("cpu", torch.bfloat16):
        ours = chunked_cross_entropy(x, weight, words, 0.1)
    theirs = F.cross_entropy(x @ weight.T, words, label_smoothing=0.1)
    assert ours.dtype == torch.float32
    torch.testing.assert_close(ours, theirs, rtol=0.01, atol=0)
    halves = x.bfloat16(), weight.bfloat16()
    assert chunked_cross_entropy(*halves, words, 0.1).dtype == torch.float32
    for a, b in zip(
        torch.autograd.grad(ours, (x, weight)),
        torch.autograd.grad(theirs, (x, weight)),
        strict=True,
    ):
        assert a.dtype == torch.float32
        assert (a - b).norm() < 0.02 * b.norm()


KINDS: list[dict[str, Any]] = [
    {"norm": norm, "positions": positions, "feed_forward": feed_forward}
    for norm in ("post", "pre")
    for positions, feed_forward in [
        ("sinusoidal", "relu"),
        ("learned", "gelu"),
        ("rotary", "swiglu"),
    ]
]
KINDS += [
    {"share_embeddings": True, "source_vocab_size": 11},
    {"n_layers": 1, "n_heads": 1},
]


@pytest.mark.parametrize("kinds", KINDS)
@pytest.mark.parametrize("label_smoothing", [0.0, 0.1])
def test_without_padding_the_loss_is_the_same(
    kinds: dict[str, Any], label_smoothing: float
) -> None:
    model = a_model(**kinds)
    batch = make_batch(some_examples(6), CPU)
    assert len(set(batch.source_lengths.tolist())) > 1
    assert len(set(batch.target_lengths.tolist())) > 1
    logits = model(batch.source, batch.source_lengths, batch.target[:, :-1])
    theirs = F.cross_entropy(
        logits.flatten(0, 1),
        batch.target[:, 1:].flatten(),
        ignore_index=PAD,
        label_smoothing=label_smoothing,
    )
    ours = translation_loss(model, batch, label_smoothing)
    torch.testing.assert_close(ours, theirs)
    parameters = dict(model.named_parameters())
    for name, a, b in zip(
        parameters,
        torch.autograd.grad(ours, list(parameters.values())),
        torch.autograd.grad(theirs, list(parameters.values())),
        strict=True,
    ):
        torch.testing.assert_close(
            a, b, atol=1e-5, rtol=1e-4, msg=lambda m, n=name: f"{n}: {m}"
        )


def test_batches_have_both_ends_and_lengths() -> None:
    pairs = [("a b", "c"), ("d", "e f g")]
    examples = encode_pairs(pairs, SOURCE, TARGET)
    assert examples == [([3, 4], [1, 5, 2]), ([6], [1, 7, 8, 9, 2])]
    batch = make_batch(examples, CPU)
    assert batch.source.tolist() == [[3, 4], [6, PAD]]
    assert batch.source_lengths.tolist() == [2, 1]
    assert batch.target.tolist() == [[1, 5, 2, PAD, PAD], [1, 7, 8, 9, 2]]
    assert batch.target_lengths.tolist() == [3, 5]


def test_an_empty_source_does_no_harm() -> None:
    examples = [([], [1, 3, 2]), ([4, 5], [1, 2])]
    trainer = steps(Trainer(a_model(), examples, CONFIG), 2)
    assert all(map(math.isfinite, trainer.losses))


def test_the_rates_by_hand() -> None:
    paper = TrainingConfig(schedule="paper", warmup_steps=4)
    assert learning_rate_at(1, paper, 16) == pytest.approx(0.25 / 8)
    assert learning_rate_at(4, paper, 16) == pytest.approx(0.25 / 2)
    assert learning_rate_at(16, paper, 16) == pytest.approx(0.25 / 4)
    cosine = TrainingConfig(max_steps=100, warmup_steps=10, learning_rate=2.0)
    half = 0.02 + 0.98 * 0.5
    assert learning_rate_at(50, cosine, 7) == pytest.approx(2 * half)
    assert learning_rate_at(100, cosine, 7) == pytest.approx(2 * 0.02)
    assert learning_rate_at(150, cosine, 7) == learning_rate_at(100, cosine, 7)
    fall = 0.5 * (1 + math.cos(math.pi * 0.05))
    assert learning_rate_at(5, cosine, 7) == pytest.approx(0.02 + 0.98 * fall)
    assert learning_rate_at(1, cosine, 7) == pytest.approx(0.2, rel=1e-3)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"max_steps": 0}, "max_steps must be a positive whole number, got 0"),
        ({"batch_tokens": 1.5}, "batch_tokens must be .* got 1.5"),
        (
            {"accumulation_steps": True},
            "accumulation_steps must be .* got True",
        ),
        ({"warmup_steps": -1}, "warmup_steps must be .* got -1"),
        ({"learning_rate": 0}, "learning_rate must be positive, got 0"),
        (
            {"max_grad_norm": math.nan},
            "max_grad_norm must be positive, got nan",
        ),
        (
            {"max_grad_norm": math.inf},
            "max_grad_norm must be positive, got inf",
        ),
        (
            {"label_smoothing": 1},
            r"label_smoothing must be in \[0, 1\), got 1",
        ),
        ({"weight_decay": -0.1}, r"weight_decay must be in .* got -0.1"),
        ({"betas": (0.9, 1.0)}, r"betas\[1\] must be in .* got 1.0"),
        ({"schedule": "linear"}, "schedule must be one of .* got 'linear'"),
        ({"precision": "fp8"}, "precision must be one of .* got 'fp8'"),
    ],
)
def test_a_recipe_that_makes_no_sense(
    changes: dict[str, Any], message: str, unchecked: None
) -> None:
    with pytest.raises(ValueError, match=f"^{message}$"):
        TrainingConfig(**changes)


def numbered() -> list[Example]:
    """Each example has a word of its own."""
    return [([i + 3] * (i % 4 + 1), [1, 3, 2]) for i in range(31)]


def test_batches_hold_each_example_once_a_pass() -> None:
    batches = BatchLoader(numbered(), TrainingConfig(batch_tokens=12), CPU)
    n = len(batches.order)
    orders = []
    for epoch in range(3):
        passed = [batches[epoch * n + i] for i in range(n)]
        firsts = [w for b in passed for w in b.source[:, 0].tolist()]
        assert sorted(firsts) == list(range(3, 34))
        for batch in passed:
            assert batch.source.numel() <= 12
            assert batch.target.numel() <= 12
        orders.append(firsts)
    assert orders[0] != orders[1] != orders[2] != orders[0]


def test_a_batch_depends_on_seed_and_number_alone() -> None:
    one, other = (BatchLoader(numbered(), CONFIG, CPU) for _ in "ab")
    numbers = [0, 40, 3, 41, 0, 99]
    found = [one[i] for i in numbers]
    for i, batch in reversed(list(zip(numbers, found, strict=True))):
        assert torch.equal(other[i].source, batch.source)
    seeded = BatchLoader(numbered(), replace(CONFIG, seed=1), CPU)
    assert seeded.order != BatchLoader(numbered(), CONFIG, CPU).order


def test_no_examples_or_one_too_long() -> None:
    with pytest.raises(ValueError, match=r"^examples must not be empty$"):
        Trainer(a_model(), [], CONFIG)
    with pytest.raises(ValueError, match="batch_tokens must be 30"):
        Trainer(a_model(), [([3], [4] * 30)], CONFIG)


def test_accumulating_averages_the_batches() -> None:
    config = replace(CONFIG, accumulation_steps=3, max_grad_norm=1e9)
    trainer = a_trainer(config)
    model = a_model()
    for number in range(1, 3):
        before = copy.deepcopy(trainer.model)
        loss = trainer.step()
        losses = [
            translation_loss(before, trainer.batches[3 * number - 3 + i])
            for i in range(3)
        ]
        mean = sum(losses, torch.zeros(())) / 3
        assert loss == pytest.approx(mean.item(), rel=1e-5)
        grads = torch.autograd.grad(mean, list(before.parameters()))
        for p, grad in zip(trainer.model.parameters(), grads, strict=True):
            torch.testing.assert_close(p.grad, grad, atol=1e-6, rtol=1e-4)
    assert model.config == trainer.model.config


def test_a_step_is_adamw_with_the_rate_and_the_clip() -> None:
    config = replace(
        CONFIG, max_grad_norm=0.01, weight_decay=0.5, betas=(0.7, 0.8)
    )
    trainer = a_trainer(config)
    model = a_model()
    plain = torch.optim.AdamW(
        model.parameters(), betas=(0.7, 0.8), weight_decay=0.5
    )
    for number in range(1, 4):
        trainer.step()
        plain.zero_grad()
        translation_loss(model, trainer.batches[number - 1]).backward()
        length = torch.nn.utils.clip_grad_norm_(model.parameters(), 0.01)
        assert length > 0.1  # there was something to max_grad_norm
        plain.param_groups[0]["lr"] = learning_rate_at(number, config, 12)
        plain.step()
        grads = [p.grad.norm() for p in trainer.model.parameters()]
        clipped = torch.stack(grads).norm().item()
        assert clipped == pytest.approx(0.01, rel=1e-3)
        for a, b in zip(
            trainer.model.parameters(), model.parameters(), strict=True
        ):
            torch.testing.assert_close(a, b, atol=1e-5, rtol=1e-4)


def test_smoothing_and_dropout_are_used() -> None:
    plain = a_trainer().step()
    assert a_trainer(replace(CONFIG, label_smoothing=0.1)).step() != plain
    assert a_trainer(dropout=0.5).step() != plain
    alone = some_examples(1)
    model = a_model(dropout=0.5)
    seeds = {
        Trainer(copy.deepcopy(model), alone, replace(CONFIG, seed=seed)).step()
        for seed in range(3)
    }
    assert len(seeds) == 3


def test_each_step_drops_others(unchecked: None) -> None:
    config = replace(CONFIG, learning_rate=1e-30)
    alone = some_examples(1)  # the same batch every time
    dropping = Trainer(a_model(dropout=0.5), alone, config)
    assert len(set(steps(dropping, 4).losses)) == 4
    assert len(set(steps(Trainer(a_model(), alone, config), 4).losses)) == 1


def test_it_learns(unchecked: None) -> None:
    config = TrainingConfig(
        max_steps=150, batch_tokens=200, learning_rate=1e-2
    )
    trainer = steps(
        a_trainer(replace(config, warmup_steps=10), norm="pre"), 150
    )
    assert trainer.losses[-1] < 0.3 * trainer.losses[0]
    held = validation_loss(trainer.model, some_examples(), config)
    assert held < 0.3 * trainer.losses[0]


def test_the_callers_chance_is_left_alone(unchecked: None) -> None:
    trainer = a_trainer(dropout=0.3)
    torch.manual_seed(7)
    random.seed(7)
    before = torch.get_rng_state(), random.getstate()
    steps(trainer, 2)
    validation_loss(trainer.model, some_examples(), CONFIG)
    assert torch.equal(torch.get_rng_state(), before[0])
    assert random.getstate() == before[1]
    torch.manual_seed(8)  # nor does it matter to the training
    other = steps(a_trainer(dropout=0.3), 2)
    assert other.losses == trainer.losses


@pytest.mark.parametrize("training", [True, False])
def test_held_out_loss_is_the_mean_of_words(training: bool) -> None:
    model = a_model(dropout=0.5).train(training)
    examples = some_examples()
    found = validation_loss(
        model, examples, replace(CONFIG, label_smoothing=0.3)
    )
    assert model.training == training
    model.eval()
    losses = [
        (translation_loss(model, make_batch([e], CPU)).item(), len(e[1]) - 1)
        for e in examples
    ]
    n_words = sum(n for _, n in losses)
    mean = sum(loss * n for loss, n in losses) / n_words
    assert found == pytest.approx(mean, rel=1e-5)
    assert all(p.grad is None for p in model.parameters())


def spoil_weight(trainer: Trainer) -> Callable[[], None]:
    weight = trainer.model.target_embedding.tokens.weight
    with torch.no_grad():
        old = weight[4, 0].item()
        weight[4, 0] = math.inf

    def mend() -> None:
        with torch.no_grad():
            weight[4, 0] = old

    return mend


def spoil_gradient(trainer: Trainer) -> Callable[[], None]:
    parameter = next(trainer.model.encoder.parameters())
    return parameter.register_hook(lambda grad: grad * math.inf).remove


@pytest.mark.parametrize("spoil", [spoil_weight, spoil_gradient])
def test_it_stops_before_numbers_are_ruined(
    spoil: Callable[[Trainer], Callable[[], None]],
) -> None:
    trainer = steps(a_trainer(dropout=0.1), 3)
    mend = spoil(trainer)
    before = state_of(trainer)
    for _ in range(2):
        with pytest.raises(
            ArithmeticError,
            match=r"^step 4: the loss is .*, the length of the gradient (nan|inf)$",
        ):
            trainer.step()
    pairs = zip(before, state_of(trainer), strict=True)
    assert all(torch.equal(a, b) for a, b in pairs)
    assert len(trainer.losses) == 3
    mend()
    assert_same(steps(trainer, 2), steps(a_trainer(dropout=0.1), 5))


@pytest.mark.parametrize(
    ("config", "changes"),
    [
        (CONFIG, {"dropout": 0.2}),
        (
            replace(CONFIG, accumulation_steps=2, schedule="paper"),
            {"dropout": 0.2},
        ),
        (replace(CONFIG, precision="bf16"), {"norm": "pre"}),
        (replace(CONFIG, precision="fp16"), {"norm": "pre"}),
        (
            replace(CONFIG, label_smoothing=0.1),
            {
                "share_embeddings": True,
                "source_vocab_size": 11,
                "positions": "learned",
            },
        ),
    ],
)
def test_going_on_is_exact(
    tmp_path: Path,
    config: TrainingConfig,
    changes: dict[str, Any],
    unchecked: None,
) -> None:
    path = tmp_path / "checkpoint"
    n = 12
    whole = steps(a_trainer(config, **changes), n)
    epoch = len(whole.batches.order)
    assert (
        epoch < n * config.accumulation_steps
    )  # goes through the border of a pass
    for cut in 0, 1, epoch // config.accumulation_steps, n - 1:
        first = steps(a_trainer(config, **changes), cut)
        save_checkpoint(path, first, SOURCE, TARGET)
        second = a_trainer(config, **changes)
        with torch.no_grad():
            for parameter in second.model.parameters():
                parameter.add_(1)
        load_checkpoint(path, second)
        assert_same(second, first)
        assert second.scaler.state_dict() == first.scaler.state_dict()
        assert_same(steps(second, n - cut), whole)


def test_bf16_is_close_and_not_the_same() -> None:
    whole = steps(a_trainer(), 4)
    half = steps(a_trainer(replace(CONFIG, precision="bf16")), 4)
    gaps = [abs(a - b) for a, b in zip(whole.losses, half.losses, strict=True)]
    assert 0 < max(gaps) < 0.1
    assert all(p.dtype == torch.float32 for p in half.model.parameters())


def test_twenty_kills_lose_nothing(tmp_path: Path) -> None:
    script = ROOT / "tests/killed_example.py"
    done = subprocess.run(
        [sys.executable, script, tmp_path, "20"],
        env=os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert (done.returncode, done.stderr) == (0, "")
    *kills, cut, whole, cut_result, whole_result = map(
        json.loads, done.stdout.split("\n")
    )
    assert len(kills) == 20
    held = 0
    for report in kills:
        assert report["killed"]
        assert report["said"][0] == held  # it went on where it was cut
        steps_said = report["said"]
        assert steps_said == list(range(held, steps_said[-1] + 1))
        assert report["held"] in (steps_said[-1], steps_said[-1] + 1)
        held = report["held"]
    assert any(report["half"] for report in kills)  # some while saving
    assert (cut["status"], cut["said"][0]) == (0, held)
    assert cut["said"][-1] == whole["said"][-1] == 80
    assert len(cut_result["losses"]) == 80
    assert cut_result == whole_result


FULL = """
import resource, signal, sys
import torch
from attention_book.checkpoints import write_tensors
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
path = sys.argv[1]
write_tensors(path, {"x": torch.zeros(10)}, {"n": "old"})
resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000))
try:
    write_tensors(path, {"x": torch.zeros(9000)}, {"n": "new"})
except OSError as error:
    sys.stdout.write(f"{error}")
"""


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
    tensors, notes = read_tensors(path)
    assert (len(tensors["x"]), notes) == (10, {"n": "old"})


def test_a_place_that_can_not_be_written(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    for path in tmp_path / "none/checkpoint", tmp_path / "folder":
        with pytest.raises(OSError, match=f"^{path}: could not be written"):
            write_tensors(path, {"x": torch.zeros(1)}, {})
    assert [*tmp_path.iterdir()] == [tmp_path / "folder"]


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    path = tmp_path / "checkpoint.safetensors"
    save_checkpoint(path, steps(a_trainer(), 2), SOURCE, TARGET)
    return path


def assert_refused(path: Path, *, match: str = ".") -> None:
    """Refused in one line with the path; the trainer stays as it was."""
    trainer = steps(a_trainer(), 1)
    before = state_of(trainer)
    for load in (
        lambda: read_tensors(path),
        lambda: load_model(path),
        lambda: load_checkpoint(path, trainer),
    ):
        with pytest.raises(ValueError, match=match) as caught:
            load()
        message = str(caught.value)
        assert message.startswith(f"{path}: ")
        assert "\n" not in message
        assert type(caught.value) is ValueError
    pairs = zip(before, state_of(trainer), strict=True)
    assert all(torch.equal(a, b) for a, b in pairs)
    assert len(trainer.losses) == 1


@pytest.mark.parametrize("share", [0, 1e-9, 7e-5, 2e-4, 0.2, 0.9, 1])
def test_a_truncated_file_is_refused(saved: Path, share: float) -> None:
    content = saved.read_bytes()
    kept = min(math.ceil(share * len(content)), len(content) - 1)
    saved.write_bytes(content[:kept])
    assert_refused(saved, match="wanted a whole safetensors file")


def test_one_flipped_bit_is_found(saved: Path, unchecked: None) -> None:
    content = saved.read_bytes()
    rng = random.Random(0)
    (header,) = struct.unpack("<Q", content[:8])
    places = [*range(8), *rng.sample(range(8, 8 + header), 90)]
    places += [content.index(b'"digest"') + 12, len(content) - 1]
    places += rng.sample(range(8 + header, len(content)), 10)
    for place in places:
        altered = bytearray(content)
        altered[place] ^= 1 << rng.randrange(8)
        saved.write_bytes(altered)
        with pytest.raises(ValueError, match=r"whole|altered") as caught:
            read_tensors(saved)
        assert type(caught.value) is ValueError
        assert str(caught.value).startswith(f"{saved}: ")
    assert header > 2000
    saved.write_bytes(content + b"\0")
    assert_refused(saved)
    saved.write_bytes(content)
    read_tensors(saved)


def test_files_of_others_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "foreign"
    for metadata in None, {"format": "pt"}, {"digest": "0" * 64}:
        save_file({"x": torch.zeros(2)}, path, metadata)
        assert_refused(path, match="not written by attention_book")


def test_a_swapped_name_or_shape_or_type_is_found(tmp_path: Path) -> None:
    path = tmp_path / "x"
    write_tensors(path, {"a": torch.zeros(2, 3), "b": torch.ones(2, 3)}, {})
    content = path.read_bytes()
    for old, new in [
        (b'"a":', b'"c":'),
        (b"[2,3]", b"[3,2]"),
        (b'"F32"', b'"I32"'),
    ]:
        assert old in content
        path.write_bytes(content.replace(old, new))
        assert_refused(path, match="altered")


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


def test_the_package_knows_no_pickle() -> None:
    modules = sorted((ROOT / "attention_book").glob("*.py"))
    assert len(modules) > 10
    for path in modules:
        text = path.read_text("utf-8")
        for word in "pickle", "torch.load", "torch.save", "eval(", "exec(":
            assert word not in text.replace(".eval(", ""), path


def test_a_missing_file_and_a_folder(tmp_path: Path) -> None:
    trainer = a_trainer()
    missing = tmp_path / "none"
    for load in (
        read_tensors,
        load_model,
        lambda path: load_checkpoint(path, trainer),
    ):
        with pytest.raises(FileNotFoundError, match=str(missing)):
            load(missing)
        with pytest.raises(
            IsADirectoryError, match=f"^{tmp_path}: wanted a file, got a "
        ):
            load(tmp_path)


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (
            lambda: a_trainer(n_layers=1),
            "made with config n_layers = 2, wanted 1$",
        ),
        (
            lambda: a_trainer(norm="pre"),
            "made with config norm = 'post', wanted 'pre'$",
        ),
        (
            lambda: a_trainer(replace(CONFIG, seed=1)),
            "made with config seed = 0, wanted 1$",
        ),
        (
            lambda: a_trainer(replace(CONFIG, betas=(0.9, 0.9))),
            r"config betas = \[0.9, 0.98\], wanted \[0.9, 0.9\]$",
        ),
        (
            lambda: Trainer(a_model(), some_examples(16), CONFIG),
            "made with corpus digest = '[0-9a-f]{64}', wanted ",
        ),
    ],
)
def test_a_checkpoint_of_something_else(
    saved: Path, other: Callable[[], Trainer], message: str
) -> None:
    trainer = steps(other(), 1)
    before = state_of(trainer)
    with pytest.raises(ValueError, match=f"^{saved}: .*{message}"):
        load_checkpoint(saved, trainer)
    pairs = zip(before, state_of(trainer), strict=True)
    assert all(torch.equal(a, b) for a, b in pairs)


def test_a_model_is_no_checkpoint(tmp_path: Path) -> None:
    path = tmp_path / "model"
    trainer = a_trainer()
    save_model(path, trainer.model, SOURCE, TARGET)
    with pytest.raises(ValueError, match="config max_steps = None, wanted 20"):
        load_checkpoint(path, trainer)
    write_tensors(path, *strip(path, "losses", training.fingerprint(trainer)))
    with pytest.raises(ValueError, match="has no losses, so is no checkpoint"):
        load_checkpoint(path, trainer)


def strip(
    path: Path, name: str, more: dict[str, str]
) -> tuple[dict[str, torch.Tensor], dict[str, str]]:
    """Read a file, leaving out a tensor and adding notes."""
    tensors, notes = read_tensors(path)
    tensors.pop(name, None)
    return tensors, notes | more


@pytest.mark.parametrize(
    ("notes", "message"),
    [
        ({"config": "3"}, "is no model of ours"),
        ({"config": '{"n_heads": 5}'}, "is no model of ours"),
        ({"source": "not JSON"}, "is no model of ours"),
        ({"target": "{}"}, "has no 'subwords', so is no model"),
    ],
)
def test_notes_that_are_not_a_models(
    saved: Path, notes: dict[str, str], message: str
) -> None:
    write_tensors(saved, *strip(saved, "", notes))
    with pytest.raises(ValueError, match=f"^{saved}: {message}"):
        load_model(saved)


def test_a_parameter_that_is_missing_or_misshapen(saved: Path) -> None:
    trainer = steps(a_trainer(), 1)
    before = state_of(trainer)
    last = [name for name, _ in trainer.model.named_parameters()][-1]
    content = saved.read_bytes()
    write_tensors(saved, *strip(saved, f"model.{last}", {}))
    for load in load_model, lambda path: load_checkpoint(path, trainer):
        with pytest.raises(
            ValueError, match=rf"wanted {last} of shape \(12,\), got none"
        ):
            load(saved)
    saved.write_bytes(content)
    tensors, notes = read_tensors(saved)
    tensors[f"model.{last}"] = torch.zeros(11)
    write_tensors(saved, tensors, notes)
    with pytest.raises(ValueError, match=rf"{last} .*, got \(11,\)"):
        load_checkpoint(saved, trainer)
    pairs = zip(before, state_of(trainer), strict=True)
    assert all(torch.equal(a, b) for a, b in pairs)


@pytest.mark.parametrize("kinds", KINDS)
def test_a_model_comes_back(tmp_path: Path, kinds: dict[str, Any]) -> None:
    model = a_model(**kinds, dropout=0.4).eval()
    path = tmp_path / "model"
    source = TARGET if model.config.share_embeddings else SOURCE
    save_model(path, model, source, TARGET)
    again, *tokens = load_model(path)
    assert again.config == model.config
    assert not again.training
    assert [t.words for t in tokens] == [source.words, TARGET.words]
    assert (tokens[0] is tokens[1]) == model.config.share_embeddings
    assert (again.source is again.target) == model.config.share_embeddings
    inputs = torch.tensor([[3, 4, 5]]), torch.tensor([3]), torch.tensor([[1]])
    assert torch.equal(again(*inputs), model(*inputs))

    save_model(path, model, source, TARGET, dtype=torch.float16)
    half, *_ = load_model(path)
    assert all(p.dtype == torch.float32 for p in half.parameters())
    for a, b in zip(half.parameters(), model.parameters(), strict=True):
        assert torch.equal(a, b.half().float())
    tensors, _ = read_tensors(path)
    assert {t.dtype for t in tensors.values()} == {torch.float16}


def test_a_checkpoint_is_a_model_too(saved: Path) -> None:
    model, source, target = load_model(saved)
    trained = steps(a_trainer(), 2).model
    for a, b in zip(model.parameters(), trained.parameters(), strict=True):
        assert torch.equal(a, b)
    assert (source.words, target.words) == (SOURCE.words, TARGET.words)


def test_subwords_are_kept_with_the_model(tmp_path: Path) -> None:
    subwords = BPETokenizer.train(["low lower lowest"] * 3, 262)
    n = len(subwords)
    model = a_model(
        source_vocab_size=n, target_vocab_size=n, share_embeddings=True
    )
    save_model(tmp_path / "model", model, subwords, subwords)
    _, source, target = load_model(tmp_path / "model")
    assert source is target
    assert source.encode("lower <eos>") == subwords.encode("lower <eos>")


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


def test_another_loss_can_be_learnt() -> None:
    seen = []

    def loss_fn(
        model: Transformer, batch: training.Batch, label_smoothing: float
    ) -> torch.Tensor:
        seen.append(label_smoothing)
        return 2 * translation_loss(model, batch, label_smoothing)

    config = replace(CONFIG, label_smoothing=0.1)
    twice = Trainer(a_model(), some_examples(), config, loss_fn).step()
    assert twice == pytest.approx(2 * a_trainer(config).step())
    assert seen == [0.1]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names")
def test_a_file_is_read_at_one_go(saved: Path, tmp_path: Path) -> None:
    # Whoever opens it twice may find two files, if it is replaced meanwhile;
    # from a pipe nothing can be read twice.
    pipe = tmp_path / "pipe"
    data = saved.read_bytes()
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=[data])
    writer.start()
    found, notes = read_tensors(pipe)
    writer.join()
    expected, same = read_tensors(saved)
    assert notes == same
    assert found.keys() == expected.keys()
    assert all(torch.equal(found[name], expected[name]) for name in found)
