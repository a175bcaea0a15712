"""attention_book.gpu: what it decides and costs."""

import re
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

import attention_book
from attention_book import gpu
from attention_book.corpus import PAD, pad
from attention_book.fast_decoding import StaticDecoder
from attention_book.fast_decoding.captured import StaticDecodingState, record
from attention_book.gpu import (
    Cost,
    Roofline,
    attention_cost,
    linear_cost,
    measure_roofline,
    seconds,
    transformer_flops,
)
from attention_book.runtime import (
    ON_CPU,
    ComputeConfig,
    compute_context,
    get_compute_config,
    inference_copy,
    kernel_of,
    seeded,
)
from attention_book.training import Trainer, TrainingConfig
from tests.gpu.test_transformer import a_config, some_examples
from tests.gpu.test_transformer import a_model as a_transformer


pytestmark = pytest.mark.usefixtures("unchecked")
NO_GPU = not torch.cuda.is_available()


def a_card(
    monkeypatch: pytest.MonkeyPatch, capability: tuple[int, int], n: int = 1
) -> None:
    """Pretend that there is a CUDA card, to be asked and not to be used."""
    monkeypatch.setattr(torch.cuda, "is_available", lambda: n > 0)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: n)
    monkeypatch.setattr(
        torch.cuda, "get_device_capability", lambda device: capability
    )


@pytest.mark.parametrize(
    ("capability", "precision"),
    [((6, 1), "fp32"), ((7, 5), "fp16"), ((8, 0), "bf16"), ((9, 0), "bf16")],
)
def test_a_card_gets_what_it_is_good_at(
    capability: tuple[int, int],
    precision: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    a_card(monkeypatch, capability)
    compute = get_compute_config()
    assert compute.device == torch.device("cuda")
    assert compute.precision == precision
    assert compute.uses_cuda_graphs
    assert compute.scaler().is_enabled() == (precision == "fp16")
    assert "cuda, cpu" in compute.why[0]
    assert get_compute_config("cuda:0", "fp32").precision == "fp32"
    assert get_compute_config("cpu").precision == "fp32"


@pytest.mark.skipif(not NO_GPU, reason="for machines without a GPU")
def test_without_a_card_it_is_the_cpu() -> None:
    compute = get_compute_config()
    if compute.device.type == "cpu":
        assert str(compute).splitlines()[1].startswith("precision fp32: full ")
    assert not compute.uses_cuda_graphs


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (
            {"device": "gpu"},
            "device must be auto, cpu, mps, cuda or cuda:N, got 'gpu'",
        ),
        ({"device": "meta"}, "device must be .* got 'meta'"),
        ({"device": ""}, "device must be .* got ''"),
        (
            {"device": "cuda:7"},
            "device: wanted cuda:7, but torch .* 1 of cuda",
        ),
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
        (
            {"kernel": "flash"},
            "kernel: cuda in fp16 has efficient, math, got 'flash'",
        ),
        (
            {"device": "cpu", "kernel": "cudnn"},
            "kernel: cpu in fp32 has flash, math, got 'cudnn'",
        ),
    ],
)
def test_what_is_not_there_is_named(
    asked: dict[str, Any], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    a_card(monkeypatch, (7, 5))
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)
    with pytest.raises(ValueError, match=f"^{message}"):
        get_compute_config(**asked)


@pytest.mark.skipif(not NO_GPU, reason="for machines without a GPU")
def test_cuda_where_there_is_none_is_an_error() -> None:
    with pytest.raises(
        ValueError, match=r"^device: wanted cuda, .* 0 of cuda"
    ):
        get_compute_config("cuda")


def test_the_engine_leaves_no_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    before = torch.get_float32_matmul_precision()
    compute = ComputeConfig(precision="tf32", kernel="math")
    x = torch.randn(1, 2, 5, 4)
    assert kernel_of(x, x, x) == "flash"
    with compute_context(compute):
        assert torch.get_float32_matmul_precision() == "high"
        assert kernel_of(x, x, x) == "math"
    assert torch.get_float32_matmul_precision() == before
    assert kernel_of(x, x, x) == "flash"
    state = torch.get_rng_state()
    monkeypatch.setattr(torch.cuda, "manual_seed_all", None)  # not touched
    with seeded(compute, 7):
        one = torch.rand(3)
    with seeded(compute, 7):
        assert torch.equal(torch.rand(3), one)
    assert torch.equal(torch.get_rng_state(), state)


def test_autocast_is_on_for_half_precision_alone() -> None:
    x = torch.randn(3, 3)
    for precision, dtype in (
        ("fp32", torch.float32),
        ("bf16", torch.bfloat16),
        ("fp16", torch.float16),
    ):
        compute = get_compute_config("cpu", precision)
        assert compute.dtype == dtype
        with compute.autocast():
            assert (x @ x).dtype == dtype


def test_which_kernel_is_told() -> None:
    x = torch.randn(1, 2, 5, 4)
    assert kernel_of(x, x, x, is_causal=True) == "flash"
    assert kernel_of(x, x, x, torch.ones(5, 5).bool()) == "flash"
    assert kernel_of(x, x, x[..., :3]) == "math"


def test_no_other_module_asks_for_the_device() -> None:
    package = Path(attention_book.__file__).parent
    asking = re.compile(
        r"""is_cuda|is_cpu|is_mps|cuda\.is_available|mps\.is_available"""
        r"""|device\.type\s*(==|!=|in\b)|torch\.cuda\."""
    )
    asked = {
        path.name
        for path in package.glob("*.py")
        if asking.search(path.read_text("utf-8"))
    }
    assert asked == {"gpu.py"}


def test_a_model_is_deployed_as_a_copy() -> None:
    model = a_transformer(dropout=0.5)
    there = inference_copy(model, get_compute_config("cpu", "bf16"))
    assert {p.dtype for p in there.parameters()} == {torch.bfloat16}
    assert {p.dtype for p in model.parameters()} == {torch.float32}
    assert model.training
    assert not there.training
    assert (
        inference_copy(model.double()).target.words.weight.dtype
        == torch.float64
    )


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"feed_forward": "swiglu", "norm": "pre", "positions": "rotary"},
        {
            "share_embeddings": True,
            "source_vocab_size": 43,
            "n_layers": 3,
            "n_heads": 2,
        },
    ],
)
def test_operations_are_those_that_are_executed(
    changes: dict[str, Any],
) -> None:
    config = a_config(**changes)
    model = attention_book.Transformer(config)
    source = torch.randint(4, 40, (3, 7))
    target = torch.randint(4, 40, (3, 5))
    with (
        compute_context(ComputeConfig(kernel="math")),
        FlopCounterMode(display=False) as counter,
    ):
        logits = model(source, torch.tensor([7, 7, 7]), target)
        forward = counter.get_total_flops()
        logits.sum().backward()
    assert forward == 3 * transformer_flops(config, 7, 5)
    # the backward pass of matrix products whose inputs want gradients
    assert counter.get_total_flops() == pytest.approx(3 * forward, rel=0.02)


def test_work_is_counted_by_hand() -> None:
    assert linear_cost(2, 3, 5) == Cost(2 * 2 * 3 * 5, 4 * (6 + 15 + 10))
    fused = attention_cost(heads=2, words=7, d_k=3, size=2)
    assert fused == Cost(2 * 2 * 2 * 7 * 7 * 3, 2 * 2 * 4 * 7 * 3)
    plain = attention_cost(heads=2, words=7, d_k=3, size=2, fused=False)
    assert plain.flops == fused.flops
    assert plain.n_bytes - fused.n_bytes == 2 * 2 * 4 * 7 * 7
    roof = Roofline(flops=100.0, n_bytes=10.0)
    assert roof.ridge == 10
    assert roof.seconds(Cost(1000, 10)) == 10  # compute_context
    assert roof.seconds(Cost(10, 1000)) == 100  # carrying


def test_the_roof_of_this_machine_is_measured() -> None:
    roof = measure_roofline(ON_CPU, width=64)
    assert 1e7 < roof.n_bytes < 1e13
    assert 1e7 < roof.flops < 1e15
    assert seconds(lambda: None, ON_CPU, rounds=3) < 0.1


def test_a_step_is_recorded_where_it_pays() -> None:
    calls = []
    step = record(lambda: calls.append("step"), list, ON_CPU)
    assert calls == []
    step()
    assert calls == ["step"]


def test_rooms_are_rounded_up_and_kept() -> None:
    decoder = StaticDecoder(a_transformer().eval(), ON_CPU)
    source, lengths = pad([source for source, _ in some_examples(5)])
    for most in (3, 16, 17):
        found = decoder.write(source, lengths, max_length=most)
        assert len(found) == 5
        assert all(1 <= len(words) <= most for words in found)
    assert sorted(decoder.rooms) == [(8, 32, 16), (8, 32, 32)]
    with pytest.raises(ValueError, match="lengths must be 1 to"):
        decoder.write(source, lengths * 0, max_length=3)


@torch.inference_mode()
def test_rows_that_have_ended_write_padding_alone() -> None:
    writing = StaticDecodingState(a_transformer(norm="pre").eval(), 4, 16, 16)
    source, lengths = pad([source[:9] for source, _ in some_examples(3)])
    writing.begin(source, lengths)
    assert writing.going.tolist() == [True, True, True, False]
    writing.going[1] = False
    for _ in range(3):
        writing.step()
    assert writing.words[1, 1:4].tolist() == [PAD] * 3
    assert writing.words[3, 1:4].tolist() == [PAD] * 3
    assert PAD not in writing.words[0, 1:4].tolist()
    assert not writing.going[[1, 3]].any()


def test_writing_twice_does_not_depend_on_what_was_there() -> None:
    decoder = StaticDecoder(a_transformer(norm="pre").eval(), ON_CPU)
    first, second = (
        pad([source for source, _ in some_examples(n)]) for n in (4, 3)
    )
    expected = decoder.write(*first, max_length=9)
    decoder.write(*second, max_length=9)
    assert decoder.write(*first, max_length=9) == expected
    alone = [
        decoder.write(source[None, :n], torch.tensor([n]), max_length=9)[0]
        for source, n in zip(first[0], first[1].tolist(), strict=True)
    ]
    assert alone == expected


def test_fp16_scales_and_a_step_that_ran_over_is_dropped() -> None:
    config = TrainingConfig(max_steps=9, batch_tokens=100, precision="fp16")
    trainer = Trainer(a_transformer(norm="pre"), some_examples(5), config)
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


def test_recorded_steps_are_used_where_they_pay(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from attention_book.fast_decoding import Translator

    usual = Translator.load()
    monkeypatch.setattr(ComputeConfig, "uses_cuda_graphs", True)
    monkeypatch.setattr(gpu, "record", lambda step, before, compute: step)
    quick = Translator.load()
    texts = ["Tom chases Jerry.", "Did Anna buy this red umbrella yesterday?"]
    assert not usual.graph_decoder
    assert not quick.graph_decoder.rooms
    assert quick.translate(texts) == usual.translate(texts)
    assert quick.graph_decoder.rooms
