"""attention_book.attention.caches: token by token equals everything at once."""

import pytest
import torch
from torch import Tensor

from attention_book import KeyValueCache, MultiHeadAttention, padding_mask
from attention_book.attention.positions import ALiBiAttention, RotaryAttention
from attention_book.attention.static_cache import StaticKeyValueCache


BATCH = 3
HEADS = 4
KEYS = 7
D = 24
D_K = D // HEADS


KINDS = [MultiHeadAttention, RotaryAttention, ALiBiAttention]


def make_tokens() -> Tensor:
    generator = torch.Generator().manual_seed(0)
    return torch.randn(BATCH, KEYS, D, generator=generator)


def make_layer(
    kind: type[MultiHeadAttention] = MultiHeadAttention, **options: object
) -> MultiHeadAttention:
    torch.manual_seed(1)
    return kind(D, HEADS, **options).eval()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n_kv_heads", [1, 2, 4])
@pytest.mark.parametrize("steps", [[1] * 7, [3, 1, 2, 1], [7]])
def test_token_by_token_equals_all_at_once(
    steps: list[int], n_kv_heads: int, kind: type[MultiHeadAttention]
) -> None:
    layer = make_layer(kind, n_kv_heads=n_kv_heads)
    x = make_tokens()
    cache = KeyValueCache(KEYS + 2)
    with torch.no_grad():
        parts = [
            layer(tokens, is_causal=True, cache=cache)
            for tokens in x.split(steps, dim=1)
        ]
        expected = layer(x, is_causal=True)
    torch.testing.assert_close(torch.cat(parts, dim=1), expected)
    assert cache.length == KEYS


def test_a_mask_covers_what_the_cache_holds() -> None:
    layer = make_layer()
    x = make_tokens()
    mask = padding_mask(torch.tensor([KEYS, 3, 5]), KEYS)
    cache = KeyValueCache(KEYS)
    with torch.no_grad():
        layer(x[:, :4], cache=cache)
        last = layer(x[:, 4:], mask=mask, is_causal=True, cache=cache)
        expected = layer(x, mask=mask, is_causal=True)[:, 4:]
    torch.testing.assert_close(last, expected)


def test_the_buffer_is_allocated_once_and_views_are_returned() -> None:
    layer = make_layer()
    x = make_tokens()
    cache = KeyValueCache(KEYS)
    with torch.no_grad():
        layer(x[:, :1], cache=cache)
        assert cache.buffer is not None
        key, value = (part.data_ptr() for part in cache.buffer)
        for token in x[:, 1:].split(1, dim=1):
            layer(token, cache=cache)
        assert cache.buffer.key.data_ptr() == key
        assert cache.buffer.value.data_ptr() == value
        expected = layer.keys_and_values(x)
    assert cache.buffer.key.shape == (BATCH, HEADS, KEYS, D_K)
    torch.testing.assert_close(cache.buffer.key, expected.key)
    torch.testing.assert_close(cache.buffer.value, expected.value)
    views = KeyValueCache(3).append(*(t[..., :2, :] for t in expected))
    assert views.key.shape[-2] == 2
    assert views.key.untyped_storage().nbytes() > views.key.numel() * 4


def test_a_full_cache_is_named_and_keeps_what_it_holds() -> None:
    layer = make_layer()
    x = make_tokens()
    cache = KeyValueCache(4)
    layer(x[:, :3], cache=cache)
    message = "holds at most 4 positions, 3 are taken, got 2 more"
    with pytest.raises(ValueError, match=message):
        layer(x[:, :2], cache=cache)
    assert cache.length == 3


def test_a_cache_that_refused_its_first_keys_is_still_empty() -> None:
    cache = KeyValueCache(3)
    key = torch.ones(BATCH, HEADS, 2, D_K)
    message = r"value must be .* shape \(3, 4, 2, 6\), .* \(3, 4, 1, 6\)"
    with pytest.raises(ValueError, match=message):
        cache.append(key, key[..., :1, :])
    assert (cache.length, cache.buffer) == (0, None)
    kept = cache.append(key[:2], key[:2])  # another batch than the refused
    torch.testing.assert_close(kept.value, key[:2])


def test_gradients_do_not_pass_a_cache_in_silence() -> None:
    layer = make_layer()
    x = make_tokens()
    cache = KeyValueCache(KEYS)
    outputs = [layer(tokens, cache=cache) for tokens in x.split([3, 4], dim=1)]
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        torch.cat(outputs, dim=1).sum().backward()


@pytest.mark.parametrize("name", ["key", "value"])
@pytest.mark.parametrize("is_static", [False, True])
def test_what_a_cache_can_not_hold_is_named(
    is_static: bool, name: str
) -> None:
    length = torch.tensor(0)
    cache = StaticKeyValueCache(3, length) if is_static else KeyValueCache(3)
    kv = {x: torch.ones(BATCH, HEADS, 1, D_K) for x in ("key", "value")}
    cache.append(**kv)
    for wrong, got in (
        (kv[name].double(), "torch.float64"),
        (kv[name][:2], r".* shape \(2, 4, 1, 6\)"),
    ):
        message = (
            rf"{name} must be torch.float32 of shape \(3, 4, 1, 6\), got {got}"
        )
        with pytest.raises(ValueError, match=message):
            cache.append(**kv | {name: wrong})
    too_many = torch.ones(BATCH, HEADS, 4, D_K)
    with pytest.raises(ValueError, match="holds at most 3 positions"):
        cache.append(too_many, too_many)


@pytest.mark.parametrize("kind", KINDS)
def test_a_static_cache_gives_what_a_growing_one_gives(
    kind: type[MultiHeadAttention],
) -> None:
    layer = make_layer(kind, n_kv_heads=2)
    x = make_tokens()
    length = torch.tensor(0)
    growing = KeyValueCache(KEYS)
    static = StaticKeyValueCache(KEYS, length)
    for token in x.split(1, dim=1):
        filled = torch.arange(KEYS) <= length
        with torch.no_grad():  # ALiBi: a shift of all distances cancels out
            expected = layer(token, is_causal=True, cache=growing)
            output = layer(token, mask=filled, cache=static)
        torch.testing.assert_close(output, expected)
        assert static.buffer is not None
        assert static.buffer.key.shape == (BATCH, 2, KEYS, D_K)
        assert int(static.length) == int(length)  # only its owner counts
        length += 1


def test_a_static_cache_stays_where_it_is_and_begins_with_zeros() -> None:
    length = torch.tensor(1)
    cache = StaticKeyValueCache(5, length)
    ones = torch.ones(BATCH, HEADS, 2, D_K)
    first = cache.append(ones, 2 * ones)
    length += 2
    second = cache.append(3 * ones, 4 * ones)
    assert second.key.data_ptr() == first.key.data_ptr()
    expected = torch.tensor([0.0, 1, 1, 3, 3])
    assert torch.equal(second.key[0, 0, :, 0], expected)
    expected = torch.tensor([0.0, 2, 2, 4, 4])
    assert torch.equal(second.value[-1, -1, :, -1], expected)


@pytest.mark.parametrize("width", [0, 5])
def test_values_may_be_of_another_width_than_keys(width: int) -> None:
    length = torch.tensor(0)
    for cache in (KeyValueCache(3), StaticKeyValueCache(3, length)):
        key = torch.rand(BATCH, HEADS, 2, D_K)
        value = torch.rand(BATCH, HEADS, 2, width)
        kept = cache.append(key, value)
        torch.testing.assert_close(kept.value[..., :2, :], value)
        assert cache.buffer is not None
        assert cache.buffer.value.shape == (BATCH, HEADS, 3, width)
        message = rf"value must be .* shape \(3, 4, 1, {width}\), got"
        with pytest.raises(ValueError, match=message):
            cache.append(key[..., :1, :], key[..., :1, :])
