"""attention_book.compute: what is chosen, what is refused, what is restored."""

import importlib
import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from PIL import Image
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_leaves

from attention_book import (
    TrainingConfig,
    TranslationBatches,
    beam_search,
    generate,
    load_checkpoint,
    save_checkpoint,
    translation_loss,
    validation_loss,
)
from attention_book.cli.app import app
from attention_book.compute import (
    ON_CPU,
    ComputeConfig,
    bucket_length,
    compute_context,
    get_compute_config,
    inference_copy,
    seeded,
)
from attention_book.generation.classifier import Classifier
from attention_book.generation.cuda_graphs import CUDAGraphDecoder
from attention_book.generation.incremental import IncrementalDecoder
from attention_book.generation.translator import EVERYDAY
from attention_book.tokenizers.special_tokens import BOS, EOS
from attention_book.training import loading
from attention_book.training.loading import Batch, make_batch
from tests.factories import (
    POSITIONS,
    TRAINING,
    make_examples,
    make_trainer,
    make_transformer,
    pretend_gpu,
)


pytestmark = pytest.mark.usefixtures("unchecked")
NO_GPU = not torch.cuda.is_available()
CUDA = torch.device("cuda")


@pytest.mark.parametrize(
    ("capability", "precision"),
    [((6, 1), "fp32"), ((7, 5), "fp16"), ((8, 0), "bf16")],
)
def test_a_card_gets_what_it_is_good_at(
    capability: tuple[int, int],
    precision: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pretend_gpu(monkeypatch, capability)
    compute = get_compute_config()
    assert compute.device == torch.device("cuda")
    assert compute.precision == precision
    assert compute.uses_cuda_graphs
    assert compute.scaler().is_enabled() == (precision == "fp16")
    assert get_compute_config("cuda:0", "fp32").precision == "fp32"
    assert get_compute_config("cpu").precision == "fp32"
    if precision == "bf16":
        assert get_compute_config("cuda", "tf32").precision == "tf32"
        assert get_compute_config("cuda", "auto", "flash").kernel == "flash"


@pytest.mark.parametrize("kind", ["cuda", "mps"])
def test_a_small_model_stays_on_the_cpu_unless_asked_for(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if kind == "cuda":
        pretend_gpu(monkeypatch, (9, 0))
    else:
        monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
        monkeypatch.setattr(torch.backends.mps, "is_available", lambda: True)
    compute = get_compute_config(model_bytes=EVERYDAY.stat().st_size)
    assert compute == ON_CPU
    large = get_compute_config(precision="fp32", model_bytes=2**26)
    assert large.device == torch.device(kind)
    asked = get_compute_config(kind, "fp32", model_bytes=1)
    assert asked.device == torch.device(kind)


@pytest.mark.parametrize("command", ["translate", "classify"])
def test_the_commands_leave_a_gpu_alone_for_the_books_models(
    command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pretend_gpu(monkeypatch, (9, 0))
    taken: list[ComputeConfig] = []

    def load(path: Path, compute: ComputeConfig) -> None:
        taken.append(compute)
        raise ValueError("far enough")

    module = importlib.import_module(f"attention_book.cli.{command}")
    loader = {"translate": "Translator", "classify": "Classifier"}[command]
    monkeypatch.setattr(getattr(module, loader), "load", load)
    for options in [], ["--device", "cuda", "--precision", "fp32"]:
        with pytest.raises(ValueError, match="far enough"):
            app([command, "a", *options], standalone_mode=False)
    assert [c.device.type for c in taken] == ["cpu", "cuda"]


@pytest.mark.skipif(not NO_GPU, reason="for machines without a GPU")
def test_without_a_card_it_is_the_cpu() -> None:
    compute = get_compute_config()
    if compute.device.type == "cpu":
        assert str(compute) == "device cpu, precision fp32, kernel auto"
    assert not compute.uses_cuda_graphs


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"device": "gpu"}, "device must be auto, .* or cuda:N, got 'gpu'"),
        ({"device": "cuda:7"}, "device: wanted cuda:7, but .* 1 of cuda"),
        ({"device": "mps"}, "device: wanted mps, but torch .* 0 of mps .*"),
        ({"precision": "int8"}, "precision must be auto, fp32, .* got 'int8'"),
        ({"kernel": "fast"}, "kernel must be auto, flash, .* got 'fast'"),
        ({"precision": "bf16"}, "precision: wanted bf16, .* capability 7"),
        ({"precision": "tf32"}, "precision: wanted tf32, .* capability 7"),
        (
            {"device": "cpu", "precision": "tf32"},
            "precision: tf32 is for cuda, got device cpu",
        ),
        (
            {"precision": "fp32", "kernel": "flash"},
            "kernel: cuda in fp32 has efficient, math, got 'flash'",
        ),
    ],
)
def test_what_is_not_there_is_named(
    asked: dict[str, Any], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pretend_gpu(monkeypatch, (7, 5))
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)
    with pytest.raises(ValueError, match=f"^{message}"):
        get_compute_config(**asked)


def matmul_precisions() -> tuple[str, ...]:
    """Return what is set by the newer interface, for CUDA and for the CPU."""
    backends: Any = torch.backends
    return (
        backends.cuda.matmul.fp32_precision,
        backends.mkldnn.matmul.fp32_precision,
    )


def test_the_context_leaves_no_trace() -> None:
    before = torch.get_float32_matmul_precision(), matmul_precisions()
    compute = ComputeConfig(precision="tf32", kernel="math")

    with compute_context(compute):
        assert torch.get_float32_matmul_precision() == "high"
        assert enabled_kernels() == {"math"}
    with pytest.raises(ValueError, match="inside"), compute_context(compute):
        raise ValueError("inside")
    after = torch.get_float32_matmul_precision(), matmul_precisions()
    assert after == before
    assert len(enabled_kernels()) == 4


def enabled_kernels() -> set[str]:
    """Return the kernels that SDPA may select."""
    cuda = torch.backends.cuda
    enabled = {
        "flash": cuda.flash_sdp_enabled(),
        "efficient": cuda.mem_efficient_sdp_enabled(),
        "cudnn": cuda.cudnn_sdp_enabled(),
        "math": cuda.math_sdp_enabled(),
    }
    return {name for name, is_enabled in enabled.items() if is_enabled}


@pytest.mark.parametrize("precision", ["bf16", "fp32"])
def test_cudnn_attends_only_if_asked_for(
    precision: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    everything = {"flash", "efficient", "cudnn", "math"}
    pretend_gpu(monkeypatch, (9, 0))
    compute = get_compute_config("cuda", precision)
    with compute_context(compute):
        assert enabled_kernels() == everything - {"cudnn"}
    if precision == "bf16":
        asked = get_compute_config("cuda", precision, "cudnn")
        with compute_context(asked):
            assert enabled_kernels() == {"cudnn"}
    with compute_context(ON_CPU):
        assert enabled_kernels() == everything


def test_half_precision_on_a_cpu_attends_by_math() -> None:
    everything = {"flash", "efficient", "cudnn", "math"}
    for precision, kernels in (
        ("fp32", everything), ("bf16", {"math"}), ("fp16", {"math"}),
    ):  # fmt: skip
        compute = get_compute_config("cpu", precision)  # type: ignore[arg-type]  # a str
        with compute_context(compute):
            assert enabled_kernels() == kernels
    asked = get_compute_config("cpu", "bf16", "flash")
    with compute_context(asked):
        assert enabled_kernels() == {"flash"}


@contextmanager
def restored() -> Iterator[None]:
    """Restore what a test sets by the newer interface."""
    backends: Any = torch.backends
    before = backends.fp32_precision, *matmul_precisions()
    try:
        yield
    finally:
        torch.set_float32_matmul_precision("highest")
        (
            backends.fp32_precision,
            backends.cuda.matmul.fp32_precision,
            backends.mkldnn.matmul.fp32_precision,
        ) = before
        assert torch.get_float32_matmul_precision() == "highest"


def test_the_validation_loss_is_in_fp32_and_without_cudnn() -> None:
    trainer = make_trainer(replace(TRAINING, precision="bf16"))
    seen: list[tuple[str, set[str], torch.dtype]] = []

    def look(module: object, inputs: object, output: torch.Tensor) -> None:
        precision = torch.get_float32_matmul_precision()
        seen.append((precision, enabled_kernels(), output.dtype))

    projection = trainer.model.encoder.layers[0].self_attention.q_proj
    handle = projection.register_forward_hook(look)
    trainer.device = CUDA  # no tensor is sent there
    with restored():
        torch.set_float32_matmul_precision("high")
        validation_loss(trainer, trainer.batches)
    handle.remove()
    without_cudnn = {"flash", "efficient", "math"}
    assert seen == len(seen) * [("highest", without_cudnn, torch.float32)]
    assert seen


@pytest.mark.parametrize("setting", ["cuda", "cpu", "all"])
def test_the_newer_setting_of_a_user_is_kept(setting: str) -> None:
    backends: Any = torch.backends
    with restored():
        if setting == "cuda":
            backends.cuda.matmul.fp32_precision = "tf32"
        elif setting == "cpu":
            backends.mkldnn.matmul.fp32_precision = "bf16"
        else:
            backends.fp32_precision = "tf32"
        with pytest.raises(RuntimeError, match="mix of the legacy and new"):
            torch.get_float32_matmul_precision()
        before = matmul_precisions()
        for precision, inside in ("fp32", "ieee"), ("tf32", "tf32"):
            compute = ComputeConfig(precision=precision)  # type: ignore[arg-type]  # a str
            with compute_context(compute):
                assert matmul_precisions() == (inside, inside)
            assert matmul_precisions() == before
        trainer = make_trainer()  # a user may train all the same
        trainer.step()
        assert matmul_precisions() == before


def test_seeds_leave_no_trace() -> None:
    state = torch.get_rng_state()
    drawn = []
    for seed in 7, 7, 8:
        with seeded(ON_CPU, seed):
            drawn.append(torch.rand(3).tolist())
    assert drawn[0] == drawn[1] != drawn[2]
    with pytest.raises(ValueError, match="inside"), seeded(ON_CPU, 7):
        raise ValueError("inside")
    assert torch.equal(torch.get_rng_state(), state)


def test_seeds_are_those_of_the_device(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cards = tuple(torch.Generator() for _ in range(3))
    monkeypatch.setattr(torch.cuda, "default_generators", cards)
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 1)
    monkeypatch.setattr(
        torch.mps, "_get_default_mps_generator", lambda: cards[2]
    )
    states = [card.get_state() for card in cards]

    def changed() -> list[int]:
        pairs = [
            (c.get_state(), s) for c, s in zip(cards, states, strict=True)
        ]
        return [i for i, pair in enumerate(pairs) if not torch.equal(*pair)]

    for device, index in ("cuda", 1), ("cuda:0", 0), ("cuda:2", 2), ("mps", 2):
        with seeded(ComputeConfig(torch.device(device)), 7):
            assert changed() == [index]
        assert changed() == []


def test_autocast_is_on_for_half_precision_alone() -> None:
    x = torch.randn(3, 3)
    dtypes = {"bf16": torch.bfloat16, "fp16": torch.float16}
    for precision, dtype in {"fp32": torch.float32, **dtypes}.items():
        compute = get_compute_config("cpu", precision)
        assert compute.dtype == dtype
        with compute.autocast():
            assert (x @ x).dtype == dtype


def test_inference_takes_a_copy() -> None:
    model = make_transformer(dropout=0.5).train()
    copied = inference_copy(model, get_compute_config("cpu", "bf16"))
    assert {p.dtype for p in copied.parameters()} == {torch.bfloat16}
    assert not any(p.requires_grad for p in copied.parameters())
    assert not copied.training
    assert {p.dtype for p in model.parameters()} == {torch.float32}
    assert all(p.requires_grad for p in model.parameters())
    assert model.training
    copied = inference_copy(model.double())
    assert {p.dtype for p in copied.parameters()} == {torch.float64}


def test_fp16_scales_and_a_step_that_overflows_is_dropped() -> None:
    config = TrainingConfig(max_steps=9, batch_tokens=100, precision="fp16")
    trainer = make_trainer(config, make_examples(5), norm="pre")
    trainer.scaler.load_state_dict(
        trainer.scaler.state_dict() | {"scale": 2.0**60}  # too much
    )
    before = [p.clone() for p in trainer.model.parameters()]
    trainer.step()
    assert all(map(torch.equal, before, trainer.model.parameters()))
    assert trainer.scaler.get_scale() == 2.0**59
    for _ in range(8):
        trainer.step()
    assert len(trainer.losses) == 9


class _WithoutFloat64(TorchFunctionMode):
    """As on Apple's GPUs: float64 stays on the host.

    Refused are float64 tensors that are put on a device by its name, and
    such as are made of tensors of another floating-point dtype.
    """

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        result = func(*args, **kwargs)
        given = [*tree_leaves(args), *kwargs.values()]
        placed = any(isinstance(x, torch.device) for x in given)
        converted = any(
            isinstance(x, torch.Tensor)
            and x.is_floating_point()
            and x.dtype != torch.float64
            for x in given
        )
        made = [x for x in tree_leaves(result) if isinstance(x, torch.Tensor)]
        if any(x.dtype == torch.float64 for x in made) and (
            placed or converted
        ):
            raise TypeError(f"this device has no float64: {func.__name__}")
        return result


def test_no_float64_goes_to_a_device(tmp_path: Path) -> None:
    device = torch.device("cpu")
    wide = torch.zeros(2, dtype=torch.float64)
    for wrong in lambda: wide.to(device), torch.ones(2).double:
        with pytest.raises(TypeError, match="no float64"), _WithoutFloat64():
            wrong()
    file = tmp_path / "checkpoint"
    with _WithoutFloat64():
        trainer = make_trainer(dropout=0.1)
        trainer.step()
        validation_loss(trainer, trainer.batches)
        save_checkpoint(file, trainer)
        resumed = make_trainer(seed=1, dropout=0.1)
        resumed.model.to(device)
        load_checkpoint(file, resumed)
        assert resumed.step() == trainer.step()
        model = trainer.model.eval()
        source = torch.tensor([[3, 4, 5]])
        lengths = torch.tensor([3])
        for decoder in (
            model,
            IncrementalDecoder(model),
            CUDAGraphDecoder(model, ON_CPU),
        ):
            generate(decoder, source, lengths, max_length=3)
            beam_search(decoder, source, lengths, max_length=3)
        image = Image.new("L", (8, 8), 255)
        image.paste(0, (3, 1, 5, 7))  # a one
        Classifier.load().classify(image)


@pytest.mark.parametrize(
    ("length", "max_length", "expected"),
    [(1, 99, 8), (8, 99, 8), (9, 99, 16), (18, 20, 20), (20, 20, 20)],
)
def test_a_gpu_gets_few_lengths(
    length: int, max_length: int, expected: int
) -> None:
    assert bucket_length(length, max_length, CUDA) == expected
    assert bucket_length(length, max_length, ON_CPU.device) == length
    longer = bucket_length(length + max_length, max_length, CUDA)
    assert longer == length + max_length  # for the model to refuse


@pytest.mark.parametrize("positions", POSITIONS)
def test_padding_to_a_bucket_makes_no_difference(
    positions: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = make_transformer(positions=positions, max_length=12)
    rng = random.Random(0)
    examples = [
        ([3] * n, [BOS, *rng.choices(range(4, 11), k=11 - n), EOS])
        for n in range(1, 12)
    ]
    config = TrainingConfig(batch_tokens=30)
    shapes = set()

    def on_the_cpu(rows: Any, device: object, lengths: Any) -> Batch:
        return make_batch(rows, ON_CPU.device, lengths)

    monkeypatch.setattr(loading, "make_batch", on_the_cpu)
    padded = TranslationBatches(examples, config, CUDA)
    plain = TranslationBatches(examples, config)
    for number in range(len(plain)):
        long = padded[number]
        shapes.add((long.source.shape[1], long.target.shape[1] - 1))
        results = []
        for batch in plain[number], long:
            model.zero_grad()
            loss = translation_loss(model, batch, 0.1)
            loss.backward()
            gradients = [p.grad for p in model.parameters()]
            results.append([loss, *(g for g in gradients if g is not None)])
            assert batch.n_targets == plain[number].n_targets
        torch.testing.assert_close(*results, rtol=1e-4, atol=1e-6)
    assert shapes <= {(a, b) for a in (8, 11) for b in (8, 11)}
