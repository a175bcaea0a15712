"""Attention on any device equals attention on the CPU."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn.attention import SDPBackend

from attention_book.attention.functional import (
    causal_mask,
    padding_mask,
    scaled_dot_product_attention,
)
from attention_book.attention.fused import fused_attention
from attention_book.compute import compute_context, get_compute_config
from tests.factories import needs_bf16


CPU = torch.device("cpu")
TOLERANCE = {torch.float32: 2e-3, torch.bfloat16: 5e-2}


def results(
    attention: Callable[..., Any],
    dtype: torch.dtype,
    device: torch.device,
    **kwargs: Any,
) -> list[Tensor]:
    """Output and the gradients of query, key and value, in fp32 on the CPU."""
    generator = torch.Generator().manual_seed(0)
    q, k, v = (
        torch.randn(3, 4, 64, 32, generator=generator)
        .to(device, dtype)
        .requires_grad_()
        for _ in "qkv"
    )
    on_device = {
        name: x.to(device) if isinstance(x, Tensor) else x
        for name, x in kwargs.items()
    }
    out = attention(q, k, v, **on_device)
    output = out[0] if isinstance(out, tuple) else out
    output.float().square().sum().backward()
    parts = (output.detach(), q.grad, k.grad, v.grad)
    return [x.float().cpu() for x in parts if x is not None]


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("kind", ["full", "causal", "padded", "both"])
def test_attention_is_that_of_the_cpu(
    kind: str, dtype: torch.dtype, device: torch.device
) -> None:
    # The last sentence is all padding: zeros, never NaN.
    padding = padding_mask(torch.tensor([64, 17, 0]), 64)
    mask = padding if kind in ("padded", "both") else None
    causal = kind in ("causal", "both")
    full = mask
    if causal:
        full = causal_mask(64) if mask is None else mask & causal_mask(64)
    expected = results(
        scaled_dot_product_attention, torch.float32, CPU, mask=full
    )
    plain = results(scaled_dot_product_attention, dtype, device, mask=full)
    fused = results(
        fused_attention, dtype, device, mask=mask, is_causal=causal
    )
    for a, b, c in zip(expected, plain, fused, strict=True):
        tolerance = TOLERANCE[dtype] * max(1.0, a.abs().max().item())
        assert torch.allclose(a, b, atol=tolerance)
        assert torch.allclose(a, c, atol=tolerance)


def test_masks_lie_on_the_device_they_are_asked_for(
    device: torch.device,
) -> None:
    lengths = torch.tensor([2], device=device)
    assert causal_mask(3, device=device).device == lengths.device
    assert padding_mask(lengths, 3).device == lengths.device


def test_causal_attention_holds_no_matrix_of_scores(gpu: torch.device) -> None:
    needs_bf16(gpu)
    n = 16_384 if gpu.type == "cuda" else 128
    x = torch.randn(1, 8, n, 64, device=gpu, dtype=torch.bfloat16)
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    fused_attention(x, x, x, is_causal=True)
    grown = torch.cuda.max_memory_allocated() - before
    assert grown < 64 * 2**20  # the scores alone would take 4 GiB


@pytest.mark.parametrize("is_causal", [True, False])
def test_the_kernel_on_a_gpu_is_never_cudnn_unasked(
    is_causal: bool, gpu: torch.device
) -> None:
    """Elsewhere PyTorch prefers it on capability 9: pytorch#196678."""
    needs_bf16(gpu)
    x = torch.randn(2, 4, 64, 64, device=gpu, dtype=torch.bfloat16)
    mask = None if is_causal else padding_mask(torch.tensor([64, 17]), 64)
    mask = mask if mask is None else mask.to(gpu)
    with compute_context(get_compute_config(gpu, "bf16")):
        found = torch._fused_sdp_choice(x, x, x, mask, 0.0, is_causal)
    flash, efficient, math = (
        int(backend.value)
        for backend in (
            SDPBackend.FLASH_ATTENTION,
            SDPBackend.EFFICIENT_ATTENTION,
            SDPBackend.MATH,
        )
    )
    assert found in (flash, efficient, math)
    if gpu.type == "cuda":
        assert found == (flash if is_causal else efficient)


@pytest.mark.filterwarnings("ignore::UserWarning")  # PyTorch says why
def test_a_kernel_that_can_not_do_a_call_is_not_replaced(
    gpu: torch.device,
) -> None:
    needs_bf16(gpu)
    asked = get_compute_config(gpu, "bf16", "flash")
    x = torch.randn(2, 4, 64, 64, device=gpu, dtype=torch.bfloat16)
    value = x if gpu.type == "cuda" else x[..., :5]  # the CPU takes masks
    mask = padding_mask(torch.tensor([64, 17]), 64).to(gpu)
    with (
        pytest.raises(RuntimeError, match="No available kernel"),
        compute_context(asked),
    ):
        fused_attention(x, x, value, mask)


@pytest.mark.filterwarnings("ignore:Synchronization debug mode")
def test_checks_do_not_wait_for_the_gpu(gpu: torch.device) -> None:
    x = torch.randn(2, 5, 3, device=gpu)
    lengths = torch.tensor([9, -1], device=gpu)
    torch.cuda.set_sync_debug_mode("error")  # reading a value is an error
    try:
        mask = padding_mask(lengths, 5)[:, 0]
        fused_attention(x, x, x, mask, is_causal=True)
    finally:
        torch.cuda.set_sync_debug_mode("default")
    assert mask[:, 0].tolist() == [[True] * 5, [False] * 5]
