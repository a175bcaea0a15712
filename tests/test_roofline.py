"""attention_book.gpu: costs by hand and by PyTorch's counter, and timing."""

from typing import Any

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from attention_book.gpu import (
    Cost,
    Roofline,
    attention_cost,
    linear_cost,
    measure_roofline,
    median_time,
    transformer_flops,
)
from attention_book.runtime import ON_CPU, ComputeConfig, compute_context
from tests.factories import make_transformer


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"n_kv_heads": 2},
        {"feed_forward": "swiglu", "norm": "pre", "positions": "rotary"},
        {
            "share_embeddings": True,
            "target_vocab_size": 13,
            "n_layers": 3,
            "n_heads": 2,
        },
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


def test_the_roofline_of_this_machine_is_measured() -> None:
    roofline = measure_roofline(ON_CPU, width=64)
    assert 1e7 < roofline.n_bytes < 1e13
    assert 1e7 < roofline.flops < 1e15


def test_the_median_is_of_the_rounds_after_the_warm_up() -> None:
    calls = []
    found = median_time(lambda: calls.append(1), ON_CPU, rounds=3)
    assert len(calls) == 2 + 3
    assert 0 < found < 0.1
