"""attention_book.attention.convolution against nn.Conv1d."""

import re

import pytest
import torch
from torch import nn

from attention_book import attention_weights
from attention_book.attention.convolution import ConvolutionAsAttention
from literate.chapter import defined_in


BATCH = 2
LENGTH = 11


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize(
    ("c_in", "c_out", "width", "dilation"),
    [(3, 5, 3, 1), (7, 2, 1, 1), (1, 1, 5, 1), (3, 13, 5, 2), (4, 4, 3, 4)],
)
def test_it_is_the_convolution(
    c_in: int, c_out: int, width: int, dilation: int, bias: bool
) -> None:
    torch.manual_seed(0)
    convolution = nn.Conv1d(
        c_in, c_out, width, padding="same", dilation=dilation, bias=bias
    )
    as_attention = ConvolutionAsAttention(convolution, length=LENGTH)
    x = torch.randn(BATCH, LENGTH, c_in)
    a, b = (x.clone().requires_grad_() for _ in "ab")
    output = as_attention(a)
    expected = convolution(b.mT).mT
    torch.testing.assert_close(output, expected, atol=1e-5, rtol=1e-5)
    upstream = torch.arange(output.numel()).reshape(output.shape).cos()
    output.backward(upstream)
    expected.backward(upstream)
    torch.testing.assert_close(a.grad, b.grad, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("width", [1, 3, 5])
def test_it_equals_the_plain_one_of_the_chapter(width: int) -> None:
    plain = defined_in(
        "docs/attention/convolution.md",
        "layers_needed",  # for what its cell imports
        "convolve_by_attention",
    )["convolve_by_attention"]
    torch.manual_seed(0)
    convolution = nn.Conv1d(3, 5, width)
    x = torch.randn(LENGTH, 3)
    output, weights = plain(x, convolution)
    as_attention = ConvolutionAsAttention(convolution, length=LENGTH)
    torch.testing.assert_close(as_attention(x[None])[0], output)
    padding = width // 2
    tokens = torch.zeros(
        1, LENGTH + 2 * padding, as_attention.attention.d_model
    )
    tokens[..., 3:5] = as_attention.circle
    real = tokens[:, padding : padding + LENGTH]
    A = attention_weights(as_attention.attention, real, tokens)
    assert torch.equal(A[0], weights)


@pytest.mark.parametrize("length", [1, 2, 11, 500, 1500])
def test_each_head_gives_all_its_weight_to_one_token(length: int) -> None:
    as_attention = ConvolutionAsAttention(nn.Conv1d(2, 2, 3), length=length)
    tokens = torch.zeros(1, length + 2, as_attention.attention.d_model)
    tokens[..., 2:4] = as_attention.circle
    A = attention_weights(as_attention.attention, tokens[:, 1:-1], tokens)
    for head in range(3):
        expected = torch.eye(length + 2)[head : head + length]
        assert torch.equal(A[0, head], expected)


def test_the_convolution_keeps_its_weights() -> None:
    convolution = nn.Conv1d(3, 5, 3)
    before = convolution.weight.clone()
    as_attention = ConvolutionAsAttention(convolution, length=LENGTH)
    as_attention(torch.randn(1, LENGTH, 3)).sum().backward()
    assert torch.equal(convolution.weight, before)
    assert convolution.weight.grad is None
    assert as_attention.attention.q_proj.weight.grad is not None


@pytest.mark.parametrize(("width", "length"), [(1, 1), (3, 1), (5, 4092)])
def test_sequences_may_be_short_or_long(width: int, length: int) -> None:
    torch.manual_seed(0)
    convolution = nn.Conv1d(2, 3, width, padding="same")
    as_attention = ConvolutionAsAttention(convolution, length=length)
    x = torch.randn(1, length, 2)
    a, b = (x.clone().requires_grad_() for _ in "ab")
    output = as_attention(a)
    expected = convolution(b.mT).mT
    torch.testing.assert_close(output, expected)
    output.square().sum().backward()
    expected.square().sum().backward()
    torch.testing.assert_close(a.grad, b.grad, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("length", [-1, 0, 4093])
def test_a_length_out_of_range_is_named(length: int) -> None:
    message = f"length must be from 1 to 4092, got {length}"
    with pytest.raises(ValueError, match=message):
        ConvolutionAsAttention(nn.Conv1d(2, 3, 5), length=length)


def test_double_precision_stays_double() -> None:
    torch.manual_seed(0)
    convolution = nn.Conv1d(3, 5, 3, padding=1, dtype=torch.float64)
    as_attention = ConvolutionAsAttention(convolution, length=LENGTH)
    x = torch.randn(BATCH, LENGTH, 3, dtype=torch.float64)
    expected = convolution(x.mT).mT
    torch.testing.assert_close(
        as_attention(x), expected, atol=1e-13, rtol=1e-13
    )


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    "layer",
    [
        nn.Conv1d(4, 6, 4),
        nn.Conv1d(4, 6, 3, stride=2),
        nn.Conv1d(4, 6, 3, groups=2),
        nn.Conv1d(4, 6, 3, padding=1, padding_mode="circular"),
        nn.Conv2d(4, 6, 3),
        nn.ConvTranspose1d(4, 6, 3),
    ],
)
def test_a_layer_it_can_not_be_is_named(layer: nn.Conv1d) -> None:
    message = re.escape(
        "convolution must be a Conv1d of odd width, stride 1, one group "
        f"and padding_mode 'zeros', got {layer}"
    )
    with pytest.raises(ValueError, match=message):
        ConvolutionAsAttention(layer, length=LENGTH)


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    "x",
    [
        torch.zeros(2, 10, 3),
        torch.zeros(2, 11, 4),
        torch.zeros(11, 3),
        torch.zeros(2, 2, 11, 3),
        torch.zeros(2, 11, 3, dtype=torch.float16),
        torch.zeros(2, 11, 3, dtype=torch.int64),
    ],
)
def test_sequences_that_do_not_fit_are_named(x: torch.Tensor) -> None:
    as_attention = ConvolutionAsAttention(nn.Conv1d(3, 5, 3), length=LENGTH)
    message = re.escape(
        "x must be (batch, 11, 3) in single or double precision, "
        f"got {tuple(x.shape)} of {x.dtype}"
    )
    with pytest.raises(ValueError, match=message):
        as_attention(x)
