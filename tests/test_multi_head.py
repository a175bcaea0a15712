"""attention_book.multi_head against PyTorch's layer and plain loops."""

import pytest
import torch
from jaxtyping import TypeCheckError
from torch import Tensor, nn

from attention_book import (
    KeyValueCache,
    MultiHeadAttention,
    attention_weights,
    causal_mask,
    padding_mask,
    scaled_dot_product_attention,
)
from attention_book.multi_head import join_heads, split_heads
from attention_book.padding import PackedMask, PaddingLayout
from attention_book.positions import ALiBiAttention, RotaryAttention
from tests.torch_state import attention_state


BATCH = 3
HEADS = 4
QUERIES = 5
KEYS = 7
D = 24
D_K = D // HEADS


def sentences() -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(0)
    return (
        torch.randn(BATCH, QUERIES, D, generator=generator),
        torch.randn(BATCH, KEYS, D, generator=generator),
    )


def a_layer(**options: object) -> MultiHeadAttention:
    torch.manual_seed(1)
    return MultiHeadAttention(D, HEADS, **options)


def pytorch_twin(ours: MultiHeadAttention) -> nn.MultiheadAttention:
    bias = ours.out_proj.bias is not None
    theirs = nn.MultiheadAttention(D, HEADS, bias=bias, batch_first=True)
    theirs.load_state_dict(attention_state(ours))
    return theirs


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("cross", [True, False])
@pytest.mark.parametrize("kind", ["none", "causal", "padding", "both"])
def test_it_equals_pytorch_forward_and_backward(
    kind: str, cross: bool, bias: bool
) -> None:
    ours = a_layer(bias=bias)
    theirs = pytorch_twin(ours)
    x, other = sentences()
    keys = KEYS if cross else QUERIES
    inputs = [[t.clone().requires_grad_() for t in (x, other)] for _ in "ab"]
    lengths = torch.tensor([keys, 2, 4])
    causal = causal_mask(QUERIES, keys)
    padding = padding_mask(lengths, keys)
    with_causal = kind in ("causal", "both")
    with_padding = kind[0] in "pb"

    mine = ours(
        inputs[0][0],
        inputs[0][1] if cross else None,
        padding if with_padding else None,
        is_causal=with_causal,
    )
    memory = inputs[1][1] if cross else inputs[1][0]
    theirs_out, weights = theirs(
        inputs[1][0],
        memory,
        memory,
        attn_mask=~causal if with_causal else None,
        key_padding_mask=~padding[:, 0, 0] if with_padding else None,
        average_attn_weights=False,
    )
    torch.testing.assert_close(mine, theirs_out, atol=1e-5, rtol=1e-5)

    slope = torch.arange(mine.numel()).reshape(mine.shape).cos()
    (mine * slope).sum().backward()
    (theirs_out * slope).sum().backward()
    for a, b in zip(*inputs, strict=True):
        torch.testing.assert_close(a.grad, b.grad, atol=1e-5, rtol=1e-4)
    for name in ("weight", "bias") if bias else ("weight",):
        grads = [
            getattr(part, name).grad for part in (ours.q_proj, ours.kv_proj)
        ]
        expected = getattr(theirs, f"in_proj_{name}").grad
        torch.testing.assert_close(
            torch.cat(grads), expected, atol=1e-4, rtol=1e-4
        )
        torch.testing.assert_close(
            getattr(ours.out_proj, name).grad,
            getattr(theirs.out_proj, name).grad,
            atol=1e-4,
            rtol=1e-4,
        )
    shown = attention_weights(
        ours,
        x,
        other if cross else None,
        padding if with_padding else None,
        is_causal=with_causal,
    )
    torch.testing.assert_close(shown, weights)


@pytest.mark.parametrize("n_kv_heads", [1, 2, 4])
def test_grouped_heads_are_the_loop_over_heads(n_kv_heads: int) -> None:
    layer = a_layer(n_kv_heads=n_kv_heads)
    x, memory = sentences()
    W_Q = layer.q_proj.weight.view(HEADS, D_K, D)
    W_K, W_V = layer.kv_proj.weight.view(2, n_kv_heads, D_K, D)
    b_Q = layer.q_proj.bias.view(HEADS, D_K)
    b_K, b_V = layer.kv_proj.bias.view(2, n_kv_heads, D_K)
    heads = []
    weights = []
    for i in range(HEADS):
        j = i * n_kv_heads // HEADS
        output, A = scaled_dot_product_attention(
            x @ W_Q[i].T + b_Q[i],
            memory @ W_K[j].T + b_K[j],
            memory @ W_V[j].T + b_V[j],
        )
        heads.append(output)
        weights.append(A)
    expected = layer.out_proj(torch.cat(heads, dim=-1))
    torch.testing.assert_close(layer(x, memory), expected)
    torch.testing.assert_close(
        attention_weights(layer, x, memory), torch.stack(weights, dim=1)
    )


@pytest.mark.parametrize("n_kv_heads", [1, 2, 4])
@pytest.mark.parametrize("steps", [[1] * 7, [3, 1, 2, 1], [7], [2, 5]])
def test_word_by_word_equals_all_at_once(
    steps: list[int], n_kv_heads: int
) -> None:
    layer = a_layer(n_kv_heads=n_kv_heads).eval()
    _, x = sentences()
    cache = KeyValueCache(KEYS + 2)
    with torch.no_grad():
        parts = [
            layer(words, is_causal=True, cache=cache)
            for words in x.split(steps, dim=1)
        ]
        expected = layer(x, is_causal=True)
    torch.testing.assert_close(torch.cat(parts, dim=1), expected)
    assert cache.length == KEYS


def test_a_mask_covers_what_the_cache_holds() -> None:
    layer = a_layer().eval()
    _, x = sentences()
    mask = padding_mask(torch.tensor([KEYS, 3, 5]), KEYS)
    cache = KeyValueCache(KEYS)
    with torch.no_grad():
        layer(x[:, :4], cache=cache)
        last = layer(x[:, 4:], mask=mask, is_causal=True, cache=cache)
        expected = layer(x, mask=mask, is_causal=True)[:, 4:]
    torch.testing.assert_close(last, expected)


def test_the_cache_takes_its_room_once_and_hands_out_views() -> None:
    layer = a_layer().eval()
    _, x = sentences()
    cache = KeyValueCache(KEYS)
    with torch.no_grad():
        layer(x[:, :1], cache=cache)
        assert cache.buffer is not None
        key, value = (part.data_ptr() for part in cache.buffer)
        for word in x[:, 1:].split(1, dim=1):
            layer(word, cache=cache)
        assert (
            cache.buffer.key.data_ptr(),
            cache.buffer.value.data_ptr(),
        ) == (
            key,
            value,
        )
        expected = layer.keys_and_values(x)
    assert cache.buffer.key.shape == (BATCH, HEADS, KEYS, D_K)
    torch.testing.assert_close(cache.buffer.key, expected.key)
    torch.testing.assert_close(cache.buffer.value, expected.value)
    views = KeyValueCache(3).append(*(t[..., :2, :] for t in expected))
    assert views.key.shape[-2] == 2
    assert views.key.untyped_storage().nbytes() > views.key.numel() * 4


def test_a_cache_keeps_the_dtype_of_its_first_keys() -> None:
    layer = a_layer().eval().bfloat16()
    cache = KeyValueCache(2)
    with torch.no_grad():
        output = layer(torch.randn(1, 2, D).bfloat16(), cache=cache)
    assert cache.buffer is not None
    assert cache.buffer.key.dtype == output.dtype == torch.bfloat16


def test_keys_and_values_made_once_serve_cross_attention() -> None:
    layer = a_layer().eval()
    x, memory = sentences()
    made_once = layer.keys_and_values(memory)
    mask = padding_mask(torch.tensor([KEYS, 3, 1]), KEYS)
    torch.testing.assert_close(
        layer(x, made_once, mask), layer(x, memory, mask)
    )
    layer(x, made_once).sum().backward()
    assert layer.kv_proj.weight.grad is not None


def test_without_a_batch_and_with_two_batch_axes() -> None:
    layer = a_layer()
    x, _ = sentences()
    expected = layer(x, is_causal=True)
    torch.testing.assert_close(layer(x[1], is_causal=True), expected[1])
    deep = x[None].expand(2, -1, -1, -1)
    torch.testing.assert_close(layer(deep, is_causal=True)[1], expected)


@pytest.mark.parametrize("n_kv_heads", [1, 2])
def test_grouped_heads_with_two_batch_axes(n_kv_heads: int) -> None:
    layer = a_layer(n_kv_heads=n_kv_heads)
    x, _ = sentences()
    deep = x[None].expand(2, -1, -1, -1)
    expected = layer(x, is_causal=True)
    torch.testing.assert_close(layer(deep, is_causal=True)[1], expected)


def test_a_sentence_of_padding_gives_the_bias_alone_and_no_nan() -> None:
    layer = a_layer()
    x, _ = sentences()
    mask = padding_mask(torch.tensor([QUERIES, 0, 2]), QUERIES)
    output = layer(x, mask=mask)
    torch.testing.assert_close(
        output[1], layer.out_proj.bias.expand(QUERIES, -1)
    )
    output.sum().backward()
    assert not any(p.grad.isnan().any() for p in layer.parameters())
    assert (attention_weights(layer, x, mask=mask)[1] == 0).all()


def test_words_listen_do_not_leak_and_follow_a_shuffle() -> None:
    layer = a_layer()
    x, _ = sentences()
    changed = x.clone()
    changed[:, -1] += 1
    assert not torch.allclose(layer(x)[:, 0], layer(changed)[:, 0])
    for i in range(QUERIES - 1):
        torch.testing.assert_close(
            layer(x, is_causal=True)[:, i],
            layer(changed, is_causal=True)[:, i],
        )
    order = torch.tensor([3, 0, 4, 1, 2])
    torch.testing.assert_close(layer(x[:, order]), layer(x)[:, order])


def test_dropout_acts_in_training_only() -> None:
    layer = a_layer(dropout=0.5)
    x, _ = sentences()
    torch.manual_seed(0)
    first = layer(x)
    second = layer(x)
    assert not torch.allclose(first, second)
    layer.eval()
    torch.testing.assert_close(layer(x), layer(x))
    torch.testing.assert_close(layer(x), a_layer()(x))


def test_splitting_and_joining_undo_each_other() -> None:
    x, _ = sentences()
    heads = split_heads(x, HEADS)
    assert heads.shape == (BATCH, HEADS, QUERIES, D_K)
    for i in range(HEADS):
        assert torch.equal(heads[:, i], x[..., i * D_K : (i + 1) * D_K])
    assert torch.equal(join_heads(heads), x)


@pytest.mark.parametrize("n_heads", [5, 0])
def test_heads_that_do_not_divide_the_width_are_named(n_heads: int) -> None:
    message = rf"a multiple of n_heads = {n_heads}\), got \(3, 5, 24\)"
    with pytest.raises(ValueError, match=message):
        split_heads(sentences()[0], n_heads)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_heads": 5}, "n_heads must divide d_model = 24, got 5"),
        ({"n_heads": 0}, "n_heads must divide d_model = 24, got 0"),
        ({"n_heads": -4}, "n_heads must divide d_model = 24, got -4"),
        ({"n_kv_heads": 3}, "n_kv_heads must divide n_heads = 4, got 3"),
        ({"n_kv_heads": 0}, "n_kv_heads must divide n_heads = 4, got 0"),
        ({"n_kv_heads": 8}, "n_kv_heads must divide n_heads = 4, got 8"),
        ({"dropout": 1.0}, r"dropout must be in \[0, 1\), got 1.0"),
        ({"dropout": -0.1}, r"dropout must be in \[0, 1\), got -0.1"),
    ],
)
def test_numbers_that_do_not_fit_are_named(
    options: dict[str, float], message: str
) -> None:
    arguments = {"d_model": D, "n_heads": HEADS} | options
    with pytest.raises(ValueError, match=message):
        MultiHeadAttention(**arguments)


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("x", "memory", "mask", "message"),
    [
        ((3, 5, 23), None, None, r"x must be 24 wide, got shape .*23\)"),
        ((24,), None, None, r"x must be \(\.\.\., words, .* got \(24,\)"),
        (
            (3, 5, 24),
            (3, 7, 12),
            None,
            r"memory must be 24 wide, got shape .*12\)",
        ),
        ((3, 5, 24), (2, 7, 24), None, "query and key must agree in batch"),
        ((3, 5, 24), None, (3, 5, 5), "mask must broadcast to"),
        ((3, 5, 24), (3, 7, 24), (5, 6), "mask must broadcast to"),
    ],
)
def test_inputs_that_do_not_fit_are_named(
    x: tuple[int, ...],
    memory: tuple[int, ...] | None,
    mask: tuple[int, ...] | None,
    message: str,
) -> None:
    layer = a_layer()
    other = None if memory is None else torch.zeros(memory)
    see = None if mask is None else torch.ones(mask, dtype=torch.bool)
    with pytest.raises(ValueError, match=message):
        layer(torch.zeros(x), other, see)


@pytest.mark.usefixtures("unchecked")
def test_a_mask_that_is_not_boolean_is_named() -> None:
    with pytest.raises(ValueError, match=r"mask must be boolean, .*float32"):
        a_layer()(torch.zeros(3, 5, D), mask=torch.ones(5, 5))


def test_a_full_cache_is_named_and_keeps_what_it_holds() -> None:
    layer = a_layer().eval()
    x, _ = sentences()
    cache = KeyValueCache(QUERIES - 1)
    layer(x[:, :3], cache=cache)
    message = "room for 4 positions, 3 are taken, got 2 more"
    with pytest.raises(ValueError, match=message):
        layer(x[:, 3:], cache=cache)
    assert cache.length == 3


def test_another_batch_than_the_cache_holds_is_named() -> None:
    layer = a_layer().eval()
    x, _ = sentences()
    cache = KeyValueCache(QUERIES)
    layer(x[:, :1], cache=cache)
    message = r"must both be \(3, 4, 1, 6\), got \(2, 4, 1, 6\)"
    with pytest.raises(ValueError, match=message):
        layer(x[:2, 1:2], cache=cache)
    assert cache.length == 1


def test_a_cache_that_refused_its_first_keys_is_still_empty() -> None:
    cache = KeyValueCache(3)
    key = torch.ones(BATCH, HEADS, 2, D_K)
    message = r"must both be \(3, 4, 2, 6\), got .* and \(3, 4, 1, 6\)"
    with pytest.raises(ValueError, match=message):
        cache.append(key, key[..., :1, :])
    assert (cache.length, cache.buffer) == (0, None)
    kept = cache.append(key[:2], key[:2])  # another batch than the refused
    torch.testing.assert_close(kept.value, key[:2])


def test_gradients_do_not_pass_a_cache_in_silence() -> None:
    layer = a_layer()
    _, x = sentences()
    cache = KeyValueCache(KEYS)
    outputs = [layer(words, cache=cache) for words in x.split([3, 4], dim=1)]
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        torch.cat(outputs, dim=1).sum().backward()


@pytest.mark.usefixtures("unchecked")
def test_a_mask_that_does_not_fit_leaves_the_cache_as_it_was() -> None:
    layer = a_layer().eval()
    x, _ = sentences()
    cache = KeyValueCache(QUERIES)
    with torch.no_grad():
        layer(x[:, :2], is_causal=True, cache=cache)
        mask = torch.ones(1, 2, dtype=torch.bool)  # forgets the new word
        with pytest.raises(ValueError, match="mask must broadcast"):
            layer(x[:, 2:3], mask=mask, cache=cache)
        assert cache.length == 2
        output = layer(x[:, 2:], is_causal=True, cache=cache)
        expected = layer(x, is_causal=True)[:, 2:]
    torch.testing.assert_close(output, expected)


def test_a_cache_with_a_memory_is_refused() -> None:
    x, memory = sentences()
    with pytest.raises(ValueError, match="cache is for self-attention"):
        a_layer()(x, memory, cache=KeyValueCache(9))


def test_a_cache_with_packed_words_is_refused() -> None:
    layer = a_layer().eval()
    packing = PaddingLayout(torch.tensor([3]), 3)
    with pytest.raises(ValueError, match="cache is for padded sentences"):
        layer(
            torch.randn(3, D),
            mask=PackedMask(packing, packing),
            cache=KeyValueCache(3),
        )


def test_shapes_are_checked_in_the_tests() -> None:
    x, memory = sentences()
    with pytest.raises(TypeCheckError):
        a_layer()(x, memory[:2])


def test_no_matrix_of_scores_is_made_for_causal_attention() -> None:
    from torch.utils._python_dispatch import TorchDispatchMode

    largest = 0

    class Watch(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            nonlocal largest
            result = func(*args, **(kwargs or {}))
            made = result if isinstance(result, tuple) else (result,)
            sizes = [t.numel() for t in made if isinstance(t, Tensor)]
            largest = max([largest, *sizes])
            return result

    n = 512
    with Watch():
        a_layer()(torch.randn(1, n, D), is_causal=True).sum().backward()
    assert largest < n * n


def test_packing_and_unpacking_undo_each_other() -> None:
    x, _ = sentences()
    packing = PaddingLayout(torch.tensor([2, 0, QUERIES]), QUERIES)
    row = packing.unpad(x)
    torch.testing.assert_close(row, torch.cat([x[0, :2], x[2]]))
    table = packing.pad(row)
    assert torch.equal(table[0, :2], x[0, :2])
    assert torch.equal(table[2], x[2])
    assert not table[0, 2:].any()
    assert not table[1].any()


@pytest.mark.parametrize(
    "kind", [MultiHeadAttention, RotaryAttention, ALiBiAttention]
)
@pytest.mark.parametrize("is_causal", [True, False])
def test_packed_words_attend_as_padded_ones(
    kind: type[MultiHeadAttention], is_causal: bool
) -> None:
    torch.manual_seed(2)
    layer = kind(D, HEADS, n_kv_heads=2)
    (x, _) = sentences()
    packing = PaddingLayout(torch.tensor([QUERIES, 1, 3]), QUERIES)
    inputs = [x.clone().requires_grad_() for _ in "ab"]

    padded = layer(inputs[0], mask=packing.mask, is_causal=is_causal)
    packed = layer(
        packing.unpad(inputs[1]),
        mask=PackedMask(packing, packing),
        is_causal=is_causal,
    )

    torch.testing.assert_close(packed, packing.unpad(padded))
    packing.unpad(padded).square().sum().backward()
    packed.square().sum().backward()
    torch.testing.assert_close(inputs[1].grad, inputs[0].grad)


def test_packed_queries_look_at_packed_keys() -> None:
    layer = a_layer()
    (x, memory) = sentences()
    queries = PaddingLayout(torch.tensor([QUERIES, 1, 3]), QUERIES)
    keys = PaddingLayout(torch.tensor([2, KEYS, 4]), KEYS)
    padded = layer(x, memory, keys.mask)
    packed = layer(
        queries.unpad(x), keys.unpad(memory), PackedMask(queries, keys)
    )
    torch.testing.assert_close(packed, queries.unpad(padded))
    causal = layer(x, memory, keys.mask, is_causal=True)
    packed = layer(
        queries.unpad(x),
        keys.unpad(memory),
        PackedMask(queries, keys),
        is_causal=True,
    )
    torch.testing.assert_close(packed, queries.unpad(causal))
