"""attention_book.pooling against the textbook formula."""

import math

import pytest
import torch

from attention_book import GaussianPooling
from attention_book.pooling import gaussian_pooling


QUERIES = 5
KEYS = 7
D = 2
D_V = 3


def inputs() -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    return (
        torch.randn(QUERIES, D, generator=generator),
        torch.randn(KEYS, D, generator=generator),
        torch.randn(KEYS, D_V, generator=generator),
    )


@pytest.mark.parametrize("bandwidth", [0.3, 1.0, 5.0])
def test_it_is_nadaraya_watson(bandwidth: float) -> None:
    query, key, value = inputs()
    output, weights = gaussian_pooling(query, key, value, bandwidth)
    for i in range(QUERIES):
        kernel = [
            math.exp(-((math.dist(query[i], key[j]) / bandwidth) ** 2) / 2)
            for j in range(KEYS)
        ]
        expected = torch.tensor(kernel) / sum(kernel)
        torch.testing.assert_close(weights[i], expected)
        torch.testing.assert_close(output[i], expected @ value)


def test_batches_are_apart() -> None:
    query, key, value = inputs()
    pair = torch.stack([key, key.flip(0)])
    output, _ = gaussian_pooling(
        query.expand(2, -1, -1), pair, value.expand(2, -1, -1)
    )
    for i in range(2):
        alone, _ = gaussian_pooling(query, pair[i], value)
        torch.testing.assert_close(output[i], alone)


def test_a_tiny_bandwidth_takes_the_nearest_and_never_divides_by_zero() -> (
    None
):
    query, key, value = inputs()
    output, weights = gaussian_pooling(query, key, value, 1e-3)
    nearest = torch.cdist(query, key).argmin(dim=-1)
    torch.testing.assert_close(output, value[nearest])
    torch.testing.assert_close(weights.sum(dim=-1), torch.ones(QUERIES))


def test_the_bandwidth_is_learnt_and_stays_positive() -> None:
    query, key, value = inputs()
    pooling = GaussianPooling(0.5)
    torch.testing.assert_close(
        pooling(query, key, value)[0],
        gaussian_pooling(query, key, value, 0.5)[0],
    )
    pooling(query, key, value)[0].square().sum().backward()
    assert pooling.log_bandwidth.grad is not None
    assert pooling.log_bandwidth.grad != 0
    pooling.log_bandwidth.data -= 100
    assert pooling.log_bandwidth.exp() > 0


@pytest.mark.parametrize("bandwidth", [0.0, -1.0, math.nan])
def test_a_bandwidth_that_is_not_positive_is_named(bandwidth: float) -> None:
    with pytest.raises(ValueError, match="bandwidth must be positive, got"):
        gaussian_pooling(*inputs(), bandwidth)
    with pytest.raises(ValueError, match="bandwidth must be positive, got"):
        GaussianPooling(bandwidth)


def test_an_infinite_bandwidth_is_the_mean() -> None:
    query, key, value = inputs()
    output, _ = gaussian_pooling(query, key, value, math.inf)
    torch.testing.assert_close(output, value.mean(dim=0).expand(QUERIES, -1))


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("shapes", "message"),
    [
        (((5, 2), (7, 2), (6, 3)), "key and value must agree in all but"),
        (((5, 2), (7, 3), (7, 3)), r"key must be 2 wide, got shape .*3\)"),
        (((4, 5, 2), (7, 2), (7, 3)), "must agree in batch and heads, got"),
    ],
)
def test_shapes_that_do_not_fit_are_named(
    shapes: tuple[tuple[int, ...], ...], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        gaussian_pooling(*(torch.zeros(shape) for shape in shapes))
