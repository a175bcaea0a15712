"""attention_book.profiling: costs by hand and by PyTorch's counter, and timing."""

import itertools
import re
from typing import Any

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from attention_book.compute import (
    ON_CPU,
    ComputeConfig,
    compute_context,
)
from attention_book.profiling import timing
from attention_book.profiling.roofline import (
    Cost,
    Roofline,
    attention_cost,
    linear_cost,
    transformer_flops,
)
from attention_book.profiling.timing import (
    measure_roofline,
    median_time,
)
from benchmarks import machine
from tests.factories import make_transformer


@pytest.mark.parametrize(
    "changes",
    [
        {"n_kv_heads": 2},
        {"feed_forward": "swiglu", "norm": "pre", "positions": "rotary"},
        {"share_embeddings": True, "target_vocab_size": 13, "n_layers": 3},
    ],
)
@pytest.mark.usefixtures("unchecked")
def test_operations_are_those_that_are_executed(
    changes: dict[str, Any],
) -> None:
    model = make_transformer(**changes)
    source = torch.randint(4, 11, (3, 7))
    target = torch.randint(4, 11, (3, 5))
    with (
        compute_context(ComputeConfig(kernel="math")),
        FlopCounterMode(display=False) as counter,
    ):
        logits = model(source, torch.tensor([7, 7, 7]), target)
        forward = counter.get_total_flops()
        logits.sum().backward()
    assert forward == 3 * transformer_flops(model.config, 7, 5)
    # the backward pass of matrix products whose inputs want gradients
    assert counter.get_total_flops() == pytest.approx(3 * forward, rel=0.02)


def test_costs_are_those_counted_by_hand() -> None:
    assert linear_cost(2, 3, 5) == Cost(2 * 2 * 3 * 5, 4 * (6 + 15 + 10))
    fused = attention_cost(n_heads=2, n_tokens=7, d_k=3, element_size=2)
    assert fused == Cost(2 * 2 * 2 * 7 * 7 * 3, 2 * 2 * 4 * 7 * 3)
    plain = attention_cost(2, 7, 3, 2, fused=False)
    assert plain.flops == fused.flops
    assert plain.n_bytes - fused.n_bytes == 2 * 2 * 4 * 7 * 7
    assert fused.intensity == fused.flops / fused.n_bytes


def test_the_longer_of_computing_and_carrying_decides() -> None:
    roofline = Roofline(flops=100.0, n_bytes=10.0)
    assert roofline.ridge == 10
    assert roofline.min_time(Cost(1000, 10)) == 10  # computing
    assert roofline.min_time(Cost(10, 1000)) == 100  # carrying


def test_the_median_is_of_the_rounds_after_the_warm_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of 4 and 3 ms at first: four more such make a round of 10 ms."""
    durations = [4e-3, 3e-3, *[7e-3, 5e-3, 5e-3, 5e-3] * 3]
    passed: list[float] = []
    monkeypatch.setattr(timing.time, "perf_counter", lambda: sum(passed))

    def call() -> None:
        passed.append(durations[len(passed)])

    found = median_time(call, ON_CPU, rounds=3)
    assert passed == durations
    assert found == pytest.approx((7 + 5 + 5 + 5) * 1e-3 / 4)


def test_a_call_that_takes_long_is_a_round(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = itertools.count(0.0)  # every look at it is a second later
    monkeypatch.setattr(timing.time, "perf_counter", lambda: next(clock))
    calls: list[None] = []
    assert median_time(lambda: calls.append(None), ON_CPU, rounds=3) == 1
    assert len(calls) == 2 + 3


def test_a_device_is_waited_for_before_and_after(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    log: list[str] = []
    monkeypatch.setattr(
        torch.accelerator, "synchronize", lambda device: log.append("wait")
    )
    monkeypatch.setattr(
        timing.time,
        "perf_counter",
        lambda: log.append("clock") or float(len(log)),
    )
    compute = ComputeConfig(torch.device("mps"))
    assert median_time(lambda: log.append("call"), compute, 1, 5) == 1.4
    assert log == ["wait", "clock", *["call"] * 5, "wait", "clock"]


def test_a_roofline_is_of_a_product_and_of_a_copy(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    times = iter((0.5, 2.0))
    monkeypatch.setattr(timing, "median_time", lambda *_: next(times))
    found = measure_roofline(ON_CPU, width=64)
    assert found == Roofline(2 * 64**3 / 0.5, 2 * 2**27 / 2.0)


@pytest.mark.parametrize(
    ("name", "peak"),
    [
        ("NVIDIA H100 80GB HBM3", 989),
        ("NVIDIA H100 NVL", 835),  # of two names that fit, the longer
        ("Tesla T4", None),  # has no bf16
        ("NVIDIA L40S", None),  # is no L4
        ("NVIDIA H100 80GB HBM3 MIG 1g.10gb", None),  # a part of a card
        ("AMD EPYC", None),
    ],
)
def test_a_peak_is_found_by_the_name_of_the_card(
    name: str, peak: float | None
) -> None:
    assert machine.peak_flops(name, "bf16") == (peak and peak * 1e12)


@pytest.mark.slow
def test_the_benchmark_of_a_machine_runs(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    unchecked: None,
) -> None:
    monkeypatch.delattr(machine, "keep")  # a dry run keeps nothing
    peaks = {"bf16": 1e12}  # as if bf16 alone were known
    monkeypatch.setattr(
        machine, "peak_flops", lambda name, precision: peaks.get(precision)
    )
    machine.main(["--device", "cpu", "--dry-run"])
    said = capsys.readouterr().out
    for what in ("roofline", "causal attention", "decoding", "ViT-S/16"):
        assert re.search(f"^{what}, .*[1-9]", said, re.MULTILINE)
    fp32, bf16 = re.findall(r"^training, base model.*", said, re.MULTILINE)
    assert re.search(r"fp32 .* no MFU: the maker's peak is not known", fp32)
    assert re.search(r"bf16 .* MFU \d+\.\d%$", bf16)


def test_the_benchmarked_step_is_a_whole_one() -> None:
    rows = 99
    sizes = machine.DRY_RUN._replace(training_rows=rows)
    trainer = machine.make_trainer(sizes, ON_CPU, compiled=False)
    assert len(trainer.batches) == 4
    for number in range(8):
        batch = trainer.batches[number]
        assert len(batch.source) == rows
        assert batch.source_layout.mask.all()
        assert batch.n_targets == rows * machine.DRY_RUN.length
    assert trainer.config.max_grad_norm == 1
