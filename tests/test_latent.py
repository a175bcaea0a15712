"""attention_book.attention.latent: equal to a plain loop, expanded or absorbed."""

import math
from functools import partial

import pytest
import torch
from torch import Tensor

from attention_book import (
    EncoderLayer,
    KeyValueCache,
    PackedLayout,
    PaddingLayout,
    attention_weights,
    causal_mask,
    padding_mask,
)
from attention_book.attention.caches import KeyValue
from attention_book.attention.latent import LatentAttention
from attention_book.attention.packed import attend_packed
from attention_book.attention.static_cache import StaticKeyValueCache


BATCH = 2
LENGTH = 7
HEADS = 3
D = 15
D_K = D // HEADS
D_LATENT = 11
D_ROPE = 4
EXACT = {"atol": 1e-12, "rtol": 0}


def make_layer(d_latent: int = D_LATENT) -> LatentAttention:
    torch.manual_seed(1)
    layer = LatentAttention(D, HEADS, d_latent=d_latent, d_rope=D_ROPE)
    return layer.eval().double()


def make_tokens() -> Tensor:
    generator = torch.Generator().manual_seed(0)
    return torch.randn(BATCH, LENGTH, D, generator=generator).double()


def rotated(x: Tensor, position: int) -> Tensor:
    """Pairs of features as complex numbers, turned by the position."""
    numbers = torch.complex(x[0::2], x[1::2])
    steps = torch.arange(0, len(x), 2) / len(x)
    angles = position * 10_000.0 ** -steps.double()
    turn = torch.polar(torch.ones_like(angles), angles)
    return torch.view_as_real(numbers * turn).flatten()


def by_loops(
    layer: LatentAttention, x: Tensor, may_attend: Tensor
) -> tuple[Tensor, Tensor]:
    """DeepSeek-V2's equations 9 to 19, token by token: output and weights."""
    up_key, up_value = layer.up_proj.weight.chunk(2)
    down, to_rotary = layer.kv_proj.weight.split([D_LATENT, D_ROPE])
    rows = layer.q_proj.weight.view(HEADS, D_K + D_ROPE, D)
    output = torch.zeros_like(x)
    weights = x.new_zeros(BATCH, HEADS, LENGTH, LENGTH)
    for b in range(BATCH):
        latents, turned = [], []
        for j in range(LENGTH):
            c = down @ x[b, j]
            size = (c.square().mean() + torch.finfo(c.dtype).eps).sqrt()
            latents.append(c / size)
            turned.append(rotated(to_rotary @ x[b, j], j))
        for i in range(LENGTH):
            heads = []
            for h in range(HEADS):
                part = slice(h * D_K, (h + 1) * D_K)
                query = rows[h] @ x[b, i]
                content = query[:D_K]
                position = rotated(query[D_K:], i)
                allowed = [j for j in range(LENGTH) if may_attend[b, h, i, j]]
                scores = [
                    content @ (up_key[part] @ latents[j])
                    + position @ turned[j]
                    for j in allowed
                ]
                head = x.new_zeros(D_K)
                if allowed:
                    scaled = torch.stack(scores) / math.sqrt(D_K + D_ROPE)
                    for j, a in zip(allowed, scaled.softmax(0), strict=True):
                        weights[b, h, i, j] = a
                        head = head + a * (up_value[part] @ latents[j])
                heads.append(head)
            output[b, i] = layer.out_proj.weight @ torch.cat(heads)
    return output, weights


def everything(mask: Tensor) -> Tensor:
    return mask.expand(BATCH, HEADS, LENGTH, LENGTH)


MASKS = {
    "none": torch.ones(1, 1, 1, LENGTH, dtype=torch.bool),
    "padding": padding_mask(torch.tensor([5, LENGTH]), LENGTH),
    "heads": torch.rand(
        BATCH,
        HEADS,
        LENGTH,
        LENGTH,
        generator=torch.Generator().manual_seed(2),
    )
    < 0.7,
}
MASKS["heads"][1, 2, 4] = False  # one head of one query sees nothing


@pytest.mark.parametrize("is_causal", [False, True])
@pytest.mark.parametrize("name", MASKS)
def test_expanded_it_is_the_papers_equations(
    name: str, is_causal: bool
) -> None:
    layer = make_layer()
    x = make_tokens()
    mask = MASKS[name]
    allowed = everything(mask) & (causal_mask(LENGTH) | (not is_causal))
    with torch.no_grad():
        expected, weights = by_loops(layer, x, allowed)
        output = layer(x, mask=mask, is_causal=is_causal)
        found = attention_weights(layer, x, mask=mask, is_causal=is_causal)
    torch.testing.assert_close(output, expected, **EXACT)
    torch.testing.assert_close(found, weights, **EXACT)


def test_the_weights_of_a_single_query_are_those_of_the_equations() -> None:
    layer = make_layer()
    x = make_tokens()
    with torch.no_grad():
        _, weights = by_loops(layer, x, everything(MASKS["none"]))
        found = attention_weights(layer, x[:, :1], x)
    torch.testing.assert_close(found, weights[:, :, :1], **EXACT)


@pytest.mark.parametrize("name", MASKS)
def test_absorbed_it_is_the_papers_equations(name: str) -> None:
    layer = make_layer()
    x = make_tokens()
    mask = everything(MASKS[name])
    allowed = mask & causal_mask(LENGTH)
    cache = KeyValueCache(LENGTH)
    parts = []
    with torch.no_grad():
        expected, _ = by_loops(layer, x, allowed)
        for i, token in enumerate(x.split(1, dim=1)):
            row = MASKS[name][..., : i + 1]
            row = row if row.shape[-2] == 1 else row[..., i : i + 1, :]
            parts.append(layer(token, mask=row, is_causal=True, cache=cache))
    torch.testing.assert_close(torch.cat(parts, dim=1), expected, **EXACT)


def test_a_query_that_may_see_nothing_gets_zeros() -> None:
    layer = make_layer()
    x = make_tokens()
    for n in (1, 3):
        mask = torch.ones(BATCH, HEADS, n, LENGTH, dtype=torch.bool)
        mask[1] = False
        with torch.no_grad():
            output = layer(x[:, :n], x, mask)
        assert torch.equal(output[1], torch.zeros(n, D).double())
        assert output[0].abs().min() > 0


@pytest.mark.parametrize("d_latent", [3, D_K, D_LATENT])
@pytest.mark.parametrize("steps", [[1] * 7, [3, 1, 2, 1], [7]])
def test_token_by_token_equals_all_at_once(
    steps: list[int], d_latent: int
) -> None:
    layer = make_layer(d_latent)
    x = make_tokens()
    cache = KeyValueCache(LENGTH + 2)
    with torch.no_grad():
        parts = [
            layer(tokens, is_causal=True, cache=cache)
            for tokens in x.split(steps, dim=1)
        ]
        expected = layer(x, is_causal=True)
    torch.testing.assert_close(torch.cat(parts, dim=1), expected, **EXACT)
    single = layer.float()(x.float(), is_causal=True)
    torch.testing.assert_close(single, expected.float(), atol=1e-5, rtol=0)


def test_half_precision_is_near_and_warns_of_nothing() -> None:
    layer = make_layer().float()
    x = make_tokens().float()
    cache = KeyValueCache(LENGTH)
    with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
        expanded = layer(x, is_causal=True)
        parts = [
            layer(token, is_causal=True, cache=cache)
            for token in x.split(1, dim=1)
        ]
    absorbed = torch.cat(parts, dim=1)
    assert absorbed.dtype == torch.bfloat16
    torch.testing.assert_close(absorbed, expanded, atol=2e-2, rtol=0)


def test_the_cache_holds_latent_and_rotary_key_and_no_more() -> None:
    layer = make_layer()
    cache = KeyValueCache(LENGTH)
    with torch.no_grad():
        layer(make_tokens(), is_causal=True, cache=cache)
    assert cache.buffer is not None
    key, value = cache.buffer
    assert key.shape == (BATCH, 1, LENGTH, D_LATENT + D_ROPE)
    assert value.numel() == 0


def test_the_future_does_not_leak() -> None:
    layer = make_layer()
    x = make_tokens()
    changed = x.clone()
    changed[:, 4:] += 3
    with torch.no_grad():
        before = layer(x, is_causal=True)
        after = layer(changed, is_causal=True)
    torch.testing.assert_close(before[:, :4], after[:, :4], **EXACT)
    assert (before[:, 4:] - after[:, 4:]).abs().min() > 0


@pytest.mark.parametrize("with_mask", [False, True])
def test_both_ways_have_the_same_gradients(with_mask: bool) -> None:
    layer = make_layer()
    x = make_tokens().requires_grad_()
    mask = MASKS["padding"] if with_mask else None
    inputs = [x, *layer.parameters()]
    found = []
    for n in (1, 2):  # absorbed; a second query has the keys expanded
        output = layer(x[:, :n], x, mask)[:, 0]
        found.append(torch.autograd.grad(output.square().sum(), inputs))
    for absorbed, expanded in zip(*found, strict=True):
        assert absorbed.abs().max() > 0
        torch.testing.assert_close(absorbed, expanded, **EXACT)


def test_gradients_are_those_of_small_differences() -> None:
    layer = make_layer()
    x = make_tokens()[:1, :3].requires_grad_()
    attend = partial(layer, is_causal=True)
    assert torch.autograd.gradcheck(attend, x)
    last = x[:, 2:].detach().clone().requires_grad_()
    assert torch.autograd.gradcheck(layer, (last, x))


def test_a_static_cache_gives_what_a_growing_one_gives() -> None:
    layer = make_layer()
    x = make_tokens()
    length = torch.tensor(0)
    growing = KeyValueCache(LENGTH)
    static = StaticKeyValueCache(LENGTH, length)
    with torch.no_grad():
        for token in x.split(1, dim=1):
            filled = torch.arange(LENGTH) <= length
            expected = layer(token, is_causal=True, cache=growing)
            output = layer(token, mask=filled, cache=static)
            torch.testing.assert_close(output, expected, **EXACT)
            length += 1


def test_without_padding_it_gives_what_it_gives_with_padding() -> None:
    layer = make_layer()
    x = make_tokens()
    lengths = torch.tensor([4, LENGTH])
    padding = PaddingLayout(lengths, LENGTH)
    packed = PackedLayout(padding, padding)
    for is_causal in (False, True):
        with torch.no_grad():
            # one row of tokens, in which positions are those of a sentence
            kv = layer.keys_and_values(x)
            query = layer.queries(x)
            expected = layer.attend(query, kv, padding.mask, is_causal)
            tokens = [
                padding.unpad(part.transpose(1, 2)).transpose(0, 1)
                for part in (query, *kv)
            ]
            heads = attend_packed(
                layer.attend,
                tokens[0],
                KeyValue(*tokens[1:]),
                packed,
                is_causal,
            )
        expected = padding.unpad(expected.transpose(1, 2)).transpose(0, 1)
        torch.testing.assert_close(heads, expected, **EXACT)


def test_layers_take_it_and_it_needs_no_batch() -> None:
    torch.manual_seed(3)
    make = partial(LatentAttention, d_latent=D_LATENT, d_rope=D_ROPE)
    layer = EncoderLayer(D, HEADS, 17, self_attention=make).eval()
    x = make_tokens().float()
    cache = KeyValueCache(LENGTH)
    with torch.no_grad():
        expected = layer(x, is_causal=True)
        parts = [
            layer(token, None, cache, is_causal=True)
            for token in x.split(1, dim=1)
        ]
        attention = layer.self_attention
        one = attention(x[0], is_causal=True)
        last = attention(x[0, 6:], attention.keys_and_values(x[0]))
        several = attention(x, is_causal=True)
    torch.testing.assert_close(torch.cat(parts, dim=1), expected)
    torch.testing.assert_close(one, several[0])
    assert last.shape == (1, D)


@pytest.mark.parametrize(
    ("sizes", "says"),
    [
        ({"d_latent": 0, "d_rope": 4}, "d_latent must be at least 1, got 0"),
        ({"d_latent": 5, "d_rope": 3}, "d_k must be even and positive, got 3"),
    ],
)
def test_wrong_sizes_are_named(sizes: dict[str, int], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        LatentAttention(D, HEADS, **sizes)
