"""attention_book.attention.multi_head against PyTorch's layer and plain loops."""

import pytest
import torch
from torch import Tensor, nn

from attention_book import (
    MultiHeadAttention,
    attention_weights,
    causal_mask,
    padding_mask,
    scaled_dot_product_attention,
)
from attention_book.attention.multi_head import merge_heads, split_heads
from tests.factories import Largest
from tests.torch_state import attention_state


BATCH = 3
HEADS = 4
QUERIES = 5
KEYS = 7
D = 24
D_K = D // HEADS


def make_inputs() -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(0)
    return (
        torch.randn(BATCH, QUERIES, D, generator=generator),
        torch.randn(BATCH, KEYS, D, generator=generator),
    )


def make_layer(**options: object) -> MultiHeadAttention:
    torch.manual_seed(1)
    return MultiHeadAttention(D, HEADS, **options)


def pytorch_layer(ours: MultiHeadAttention) -> nn.MultiheadAttention:
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
    ours = make_layer(bias=bias)
    theirs = pytorch_layer(ours)
    x, other = make_inputs()
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

    upstream = torch.arange(mine.numel()).reshape(mine.shape).cos()
    mine.backward(upstream)
    theirs_out.backward(upstream)
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
    layer = make_layer(n_kv_heads=n_kv_heads)
    x, memory = make_inputs()
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


def test_keys_and_values_made_once_serve_cross_attention() -> None:
    layer = make_layer().eval()
    x, memory = make_inputs()
    made_once = layer.keys_and_values(memory)
    mask = padding_mask(torch.tensor([KEYS, 3, 1]), KEYS)
    torch.testing.assert_close(
        layer(x, made_once, mask), layer(x, memory, mask)
    )
    layer(x, made_once).sum().backward()
    assert layer.kv_proj.weight.grad is not None


@pytest.mark.parametrize("n_kv_heads", [1, 2, 4])
def test_without_a_batch_and_with_two_batch_axes(n_kv_heads: int) -> None:
    layer = make_layer(n_kv_heads=n_kv_heads)
    x, _ = make_inputs()
    expected = layer(x, is_causal=True)
    torch.testing.assert_close(layer(x[1], is_causal=True), expected[1])
    deep = x[None].expand(2, -1, -1, -1)
    torch.testing.assert_close(layer(deep, is_causal=True)[1], expected)


def test_a_sentence_of_padding_gives_the_bias_alone_and_no_nan() -> None:
    layer = make_layer()
    x, _ = make_inputs()
    mask = padding_mask(torch.tensor([QUERIES, 0, 2]), QUERIES)
    output = layer(x, mask=mask)
    torch.testing.assert_close(
        output[1], layer.out_proj.bias.expand(QUERIES, -1)
    )
    output.sum().backward()
    assert not any(p.grad.isnan().any() for p in layer.parameters())
    assert (attention_weights(layer, x, mask=mask)[1] == 0).all()


def test_a_mask_of_three_axes_is_not_taken_for_one_of_heads() -> None:
    layer = make_layer()
    x = make_inputs()[1][:1].expand(HEADS, -1, -1)
    mask = padding_mask(torch.tensor([KEYS, 3, 1, 5]), KEYS)
    mask = mask & causal_mask(KEYS, KEYS)
    assert layer(x, mask=mask).shape == x.shape
    assert layer(x, mask=mask[0]).shape == x.shape  # (1, queries, keys)
    assert layer(x[0], mask=mask[:, 0]).shape == x[0].shape  # of heads
    message = r"mask must have four axes, .*got \(4, 7, 7\)"
    with pytest.raises(ValueError, match=message):
        layer(x, mask=mask[:, 0])
    with pytest.raises(ValueError, match=message):
        attention_weights(layer, x, mask=mask[:, 0])


def test_tokens_listen_do_not_leak_and_follow_a_shuffle() -> None:
    layer = make_layer()
    x, _ = make_inputs()
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
    layer = make_layer(dropout=0.5)
    x, _ = make_inputs()
    torch.manual_seed(0)
    first = layer(x)
    second = layer(x)
    assert not torch.allclose(first, second)
    layer.eval()
    torch.testing.assert_close(layer(x), layer(x))
    torch.testing.assert_close(layer(x), make_layer()(x))


def test_splitting_and_merging_undo_each_other() -> None:
    x, _ = make_inputs()
    heads = split_heads(x, HEADS)
    assert heads.shape == (BATCH, HEADS, QUERIES, D_K)
    for i in range(HEADS):
        assert torch.equal(heads[:, i], x[..., i * D_K : (i + 1) * D_K])
    assert torch.equal(merge_heads(heads), x)


def test_no_matrix_of_scores_is_made_for_causal_attention() -> None:
    n = 512
    with Largest() as largest:
        make_layer()(torch.randn(1, n, D), is_causal=True).sum().backward()
    assert largest.elements < n * n


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
def test_weights_are_of_the_layers_dtype(dtype: torch.dtype) -> None:
    layer = make_layer().to(dtype).eval()
    x = make_inputs()[0].detach().to(dtype)
    weights = attention_weights(layer, x)
    assert weights.dtype == dtype
    total = weights.float().sum(dim=-1)
    torch.testing.assert_close(
        total, torch.ones_like(total), atol=2e-2, rtol=0
    )
