"""The book's own kernel on a GPU, compiled, equals PyTorch's.

Without a card Triton's interpreter stands in for it, at small sizes.
"""

import sys
from importlib.util import find_spec
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from attention_book.attention.flash_op import flash_attention
from attention_book.attention.functional import causal_mask, padding_mask
from tests.factories import compile_backend


pytestmark = pytest.mark.skipif(
    find_spec("triton") is None and sys.platform != "linux",
    reason="there is no Triton but for Linux",
)
TOLERANCE = {torch.float32: 1e-4, torch.float16: 5e-3, torch.bfloat16: 4e-2}


def inputs(
    gpu: torch.device, dtype: torch.dtype, queries: int, keys: int, d: int
) -> list[Tensor]:
    generator = torch.Generator().manual_seed(0)
    heads, kv_heads = (8, 2) if gpu.type == "cuda" else (2, 1)
    return [
        torch.randn(2, h, n, d, generator=generator).to(gpu, dtype)
        for h, n in ((heads, queries), (kv_heads, keys), (kv_heads, keys))
    ]


def exact(
    q: Tensor, k: Tensor, v: Tensor, lengths: Tensor, is_causal: bool
) -> Tensor:
    """PyTorch's attention with a boolean mask, in fp64 on the CPU."""
    mask = padding_mask(lengths, k.shape[-2])
    if is_causal:
        mask = mask & causal_mask(q.shape[-2], k.shape[-2])
    return scaled_dot_product_attention(q, k, v, mask, enable_gqa=True)


def with_gradients(
    attention: Any, given: list[Tensor], lengths: Tensor, is_causal: bool
) -> list[Tensor]:
    given = [x.clone().requires_grad_() for x in given]
    output = attention(*given, lengths, is_causal=is_causal)
    weight = torch.arange(output.numel()).cos().view(output.shape)
    loss = (output * weight.to(output)).sum()
    found = [output.detach(), *torch.autograd.grad(loss, given)]
    return [x.double().cpu() for x in found]


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize(
    ("d", "is_causal"), [(64, True), (80, False), (128, True)]
)
def test_the_kernel_is_pytorchs(
    d: int, is_causal: bool, dtype: torch.dtype, gpu: torch.device
) -> None:
    queries, keys = (777, 1001) if gpu.type == "cuda" else (5, 7)
    given = inputs(gpu, dtype, queries, keys, d)
    lengths = torch.tensor([keys, keys // 3])
    found = with_gradients(flash_attention, given, lengths.to(gpu), is_causal)
    wanted = with_gradients(
        exact, [x.double().cpu() for x in given], lengths, is_causal
    )
    for a, b in zip(found, wanted, strict=True):
        tolerance = TOLERANCE[dtype] * max(1.0, b.abs().max().item())
        assert (a - b).abs().max() <= tolerance


def test_a_row_without_a_key_is_zero(gpu: torch.device) -> None:
    given = inputs(gpu, torch.float16, 70, 6, 32)
    lengths = torch.tensor([6, 0], device=gpu)
    output, dq, *_ = with_gradients(flash_attention, given, lengths, True)
    for x in (output, dq):
        assert (x[0, :, :64] == 0).all()
        assert (x[1] == 0).all()


def test_a_training_step_compiles(device: torch.device) -> None:
    torch.compiler.reset()

    def step(x: Tensor) -> Tensor:
        return flash_attention(x, x, x, is_causal=True).float().sum()

    x = inputs(device, torch.float16, 9, 9, 16)[0].requires_grad_()
    backend = compile_backend(device, on_cpu=False)
    compiled = torch.compile(step, backend=backend, fullgraph=True)
    (found,) = torch.autograd.grad(compiled(x), x)
    (expected,) = torch.autograd.grad(step(x), x)
    torch.testing.assert_close(found, expected)


def test_training_holds_no_matrix_of_scores(gpu: torch.device) -> None:
    n = 16_384 if gpu.type == "cuda" else 16
    x = torch.randn(1, 8, n, 64, device=gpu, dtype=torch.float16)
    x.requires_grad_()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    flash_attention(x, x, x, is_causal=True).sum().backward()
    grown = torch.cuda.max_memory_allocated() - before
    assert grown < 512 * 2**20  # the scores alone would take 4 GiB
