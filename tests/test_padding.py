"""attention_book.attention.packed: packed tokens attend as padded ones."""

import pytest
import torch
from torch import Tensor

from attention_book import MultiHeadAttention
from attention_book.attention.packed import PackedLayout, PaddingLayout
from attention_book.attention.positions import ALiBiAttention, RotaryAttention


BATCH = 3
HEADS = 4
QUERIES = 5
KEYS = 7
D = 24


def make_inputs() -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(0)
    return (
        torch.randn(BATCH, QUERIES, D, generator=generator),
        torch.randn(BATCH, KEYS, D, generator=generator),
    )


def test_padding_keeps_no_copy_for_the_backward_pass() -> None:
    layout = PaddingLayout(torch.tensor([3, 2]), max_length=5)
    packed = torch.randn(5, 7, requires_grad=True)
    kept: list[Tensor] = []

    def keep(x: Tensor) -> Tensor:
        kept.append(x)
        return x

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda x: x):
        padded = layout.pad(packed)
    assert kept
    assert not any(x.is_floating_point() for x in kept)
    weights = torch.randn_like(padded)
    (padded * weights).sum().backward()
    torch.testing.assert_close(packed.grad, layout.unpad(weights))


def test_packing_and_unpacking_undo_each_other() -> None:
    x, _ = make_inputs()
    layout = PaddingLayout(torch.tensor([2, 0, QUERIES]), QUERIES)
    row = layout.unpad(x)
    torch.testing.assert_close(row, torch.cat([x[0, :2], x[2]]))
    table = layout.pad(row)
    assert torch.equal(table[0, :2], x[0, :2])
    assert torch.equal(table[2], x[2])
    assert not table[0, 2:].any()
    assert not table[1].any()


@pytest.mark.parametrize(
    "kind", [MultiHeadAttention, RotaryAttention, ALiBiAttention]
)
@pytest.mark.parametrize("is_causal", [True, False])
def test_packed_tokens_attend_as_padded_ones(
    kind: type[MultiHeadAttention], is_causal: bool
) -> None:
    torch.manual_seed(2)
    layer = kind(D, HEADS, n_kv_heads=2)
    x, _ = make_inputs()
    layout = PaddingLayout(torch.tensor([QUERIES, 1, 3]), QUERIES)
    inputs = [x.clone().requires_grad_() for _ in "ab"]

    padded = layer(inputs[0], mask=layout.mask, is_causal=is_causal)
    packed = layer(
        layout.unpad(inputs[1]),
        mask=PackedLayout(layout, layout),
        is_causal=is_causal,
    )

    torch.testing.assert_close(packed, layout.unpad(padded))
    layout.unpad(padded).square().sum().backward()
    packed.square().sum().backward()
    torch.testing.assert_close(inputs[1].grad, inputs[0].grad)


@pytest.mark.parametrize("is_causal", [True, False])
def test_packed_queries_attend_to_packed_keys(is_causal: bool) -> None:
    torch.manual_seed(1)
    layer = MultiHeadAttention(D, HEADS)
    x, memory = make_inputs()
    queries = PaddingLayout(torch.tensor([QUERIES, 1, 3]), QUERIES)
    keys = PaddingLayout(torch.tensor([2, KEYS, 4]), KEYS)
    padded = layer(x, memory, keys.mask, is_causal=is_causal)
    packed = layer(
        queries.unpad(x),
        keys.unpad(memory),
        PackedLayout(queries, keys),
        is_causal=is_causal,
    )
    torch.testing.assert_close(packed, queries.unpad(padded))


@pytest.mark.parametrize("lengths", [[9, -1], [5, 2], [0, 6]])
def test_lengths_out_of_range_are_named(lengths: list[int]) -> None:
    message = r"lengths must be from 0 to 4, got"
    with pytest.raises(ValueError, match=message):
        PaddingLayout(torch.tensor(lengths), 4)


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("shape", [(2, 5, 7), (3, 4, 7), (8, 7)])
def test_a_batch_of_another_shape_is_named(shape: tuple[int, ...]) -> None:
    layout = PaddingLayout(torch.tensor([2, 3]), 4)
    message = r"padded must be \(2, 4, \.\.\.\), got"
    with pytest.raises(ValueError, match=message):
        layout.unpad(torch.zeros(shape))
