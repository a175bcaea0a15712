"""Multi-head attention on a GPU equals multi-head attention on the CPU."""

import copy

import pytest
import torch
from torch import Tensor, nn

from attention_book.attention.caches import KeyValueCache
from attention_book.attention.functional import padding_mask
from attention_book.attention.multi_head import (
    MultiHeadAttention,
)
from attention_book.attention.positions import (
    ALiBiAttention,
    LearnedPositions,
    RotaryAttention,
    SinusoidalPositions,
)
from attention_book.attention.static_cache import StaticKeyValueCache


TOLERANCE = {torch.float32: 2e-3, torch.bfloat16: 5e-2}
LAYERS = [MultiHeadAttention, RotaryAttention, ALiBiAttention]


def make_tokens() -> Tensor:
    return torch.randn(3, 64, 128, generator=torch.Generator().manual_seed(0))


def gradients(layer: nn.Module, x: Tensor, **options: object) -> list[Tensor]:
    """Output and the gradients of the parameters, in fp32 on the CPU."""
    output = layer(x, **options)
    output.float().square().sum().backward()
    parts = [output, *(p.grad for p in layer.parameters())]
    return [part.detach().float().cpu() for part in parts]


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("n_kv_heads", [4, 2, 1])
@pytest.mark.parametrize("kind", LAYERS)
def test_a_layer_is_that_of_the_cpu(
    kind: type[MultiHeadAttention],
    n_kv_heads: int,
    dtype: torch.dtype,
    device: torch.device,
) -> None:
    torch.manual_seed(0)
    layer = kind(128, 4, n_kv_heads=n_kv_heads)
    there = copy.deepcopy(layer).to(device, dtype)
    mask = padding_mask(torch.tensor([64, 17, 0]), 64)
    expected = gradients(layer, make_tokens(), mask=mask, is_causal=True)
    got = gradients(
        there,
        make_tokens().to(device, dtype),
        mask=mask.to(device),
        is_causal=True,
    )
    for a, b in zip(expected, got, strict=True):
        tolerance = TOLERANCE[dtype] * max(1.0, a.abs().max().item())
        assert torch.allclose(a, b, atol=tolerance)


@pytest.mark.parametrize("kind", LAYERS)
def test_token_by_token_equals_all_at_once(
    kind: type[MultiHeadAttention], device: torch.device
) -> None:
    torch.manual_seed(0)
    layer = kind(128, 4, n_kv_heads=2).to(device).eval()
    x = make_tokens().to(device)
    cache = KeyValueCache(64)
    with torch.no_grad():
        parts = [
            layer(part, is_causal=True, cache=cache)
            for part in x.split([40, *[1] * 24], dim=1)
        ]
        expected = layer(x, is_causal=True)
    assert torch.allclose(torch.cat(parts, dim=1), expected, atol=2e-3)
    assert cache.buffer is not None
    assert cache.buffer.key.device == x.device


@pytest.mark.parametrize(
    "positions", [SinusoidalPositions(128), LearnedPositions(200, 128)]
)
def test_positions_are_added_on_the_device(
    positions: nn.Module, device: torch.device
) -> None:
    expected = positions(make_tokens(), 100)
    got = copy.deepcopy(positions).to(device)(make_tokens().to(device), 100)
    assert torch.allclose(got.cpu(), expected, atol=1e-4)


def test_a_static_cache_gives_what_a_growing_one_gives(
    device: torch.device,
) -> None:
    torch.manual_seed(0)
    layer = RotaryAttention(128, 4, n_kv_heads=2).to(device).eval()
    x = make_tokens().to(device)[:, :9]
    length = torch.tensor(0, device=device)
    positions = torch.arange(9, device=device)
    growing = KeyValueCache(9)
    static = StaticKeyValueCache(9, length)
    with torch.no_grad():
        for token in x.split(1, dim=1):
            expected = layer(token, is_causal=True, cache=growing)
            output = layer(token, mask=positions <= length, cache=static)
            assert torch.allclose(output, expected, atol=2e-3)
            length += 1
