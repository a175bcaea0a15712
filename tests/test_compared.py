"""attention_book.compared against nn.Conv1d."""

import pytest
import torch
from torch import nn

from attention_book import attention_weights
from attention_book.compared import ConvolutionAsAttention

BATCH, WORDS = 2, 11


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
    twin = ConvolutionAsAttention(convolution, n_words=WORDS)
    x = torch.randn(BATCH, WORDS, c_in)
    a, b = (x.clone().requires_grad_() for _ in "ab")
    output, expected = twin(a), convolution(b.mT).mT
    torch.testing.assert_close(output, expected, atol=1e-5, rtol=1e-5)
    slope = torch.arange(output.numel()).reshape(output.shape).cos()
    (output * slope).sum().backward()
    (expected * slope).sum().backward()
    # Through the scores comes a zero, rounded and times a large weight.
    torch.testing.assert_close(a.grad, b.grad, atol=2e-3, rtol=1e-3)


@pytest.mark.parametrize("words", [2, 11, 500, 1500])
def test_each_head_gives_all_its_weight_to_one_word(words: int) -> None:
    twin = ConvolutionAsAttention(nn.Conv1d(2, 2, 3), n_words=words)
    tokens = torch.zeros(1, words + 2, twin.attention.d_model)
    tokens[..., 2:4] = twin.circle
    A = attention_weights(twin.attention, tokens[:, 1:-1], tokens)
    for head in range(3):
        expected = torch.eye(words + 2)[head : head + words]
        assert torch.equal(A[0, head], expected)


def test_the_convolution_keeps_its_weights() -> None:
    convolution = nn.Conv1d(3, 5, 3)
    before = convolution.weight.clone()
    twin = ConvolutionAsAttention(convolution, n_words=WORDS)
    twin(torch.randn(1, WORDS, 3)).sum().backward()
    assert torch.equal(convolution.weight, before)
    assert convolution.weight.grad is None
    assert twin.attention.project_query.weight.grad is not None


@pytest.mark.parametrize(
    "options",
    [{"kernel_size": 4}, {"kernel_size": 3, "stride": 2}, {"groups": 2}],
)
def test_a_convolution_it_can_not_be_is_named(options: dict[str, int]) -> None:
    convolution = nn.Conv1d(4, 6, **({"kernel_size": 3} | options))
    with pytest.raises(ValueError, match="convolution must have an odd width"):
        ConvolutionAsAttention(convolution, n_words=WORDS)


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("shape", [(2, 10, 3), (2, 11, 4)])
def test_sentences_of_another_shape_are_named(shape: tuple[int, ...]) -> None:
    twin = ConvolutionAsAttention(nn.Conv1d(3, 5, 3), n_words=WORDS)
    with pytest.raises(ValueError, match=r"x must be \(batch, 11, 3\), got"):
        twin(torch.zeros(shape))
