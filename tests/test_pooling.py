"""attention_book.attention.pooling against the textbook formula."""

import math

import pytest
import torch

from attention_book import GaussianPooling
from attention_book.attention.pooling import gaussian_pooling


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


def test_the_bandwidth_is_1_unless_it_is_given() -> None:
    output, weights = gaussian_pooling(*inputs())
    given, by_these = gaussian_pooling(*inputs(), 1.0)
    assert torch.equal(output, given)
    assert torch.equal(weights, by_these)


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


@pytest.mark.parametrize(
    ("scale", "bandwidth"), [(1.0, 1e-20), (1.0, 1e-30), (1e25, 1.0)]
)
def test_where_every_square_overflows_the_nearest_key_is_found(
    scale: float, bandwidth: float
) -> None:
    query, key, value = inputs()
    nearest = torch.cdist(query, key).argmin(dim=-1)
    query = (scale * query).requires_grad_()
    output, weights = gaussian_pooling(query, scale * key, value, bandwidth)
    torch.testing.assert_close(output, value[nearest])
    torch.testing.assert_close(weights.sum(dim=-1), torch.ones(QUERIES))
    output.sum().backward()
    assert query.grad is not None
    assert query.grad.isfinite().all()


def test_half_precision_reaches_as_far() -> None:
    far = torch.tensor([[1000.0]]).half()
    known = torch.tensor([[0.0], [300.0], [301.0]]).half()
    output, weights = gaussian_pooling(far, known, known)
    assert output.item() == 301
    assert weights.tolist() == [[0, 0, 1]]


def test_the_gradients_are_those_of_the_formula() -> None:
    query, key, value = (x.double().requires_grad_() for x in inputs())
    h = torch.tensor(0.7, dtype=torch.double, requires_grad=True)

    def output(*parts: torch.Tensor) -> torch.Tensor:
        return gaussian_pooling(*parts)[0]

    assert torch.autograd.gradcheck(output, (query, key, value, h))
    assert torch.autograd.gradgradcheck(output, (query, query, value[:5], h))


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


@pytest.mark.usefixtures("unchecked")
def test_a_bandwidth_is_read_on_the_cpu_alone() -> None:
    zero = torch.tensor(0.0)
    with pytest.raises(ValueError, match=r"must be positive, got 0\.0"):
        gaussian_pooling(*inputs(), zero)
    elsewhere = [x.to("meta") for x in (*inputs(), zero)]
    output, weights = gaussian_pooling(*elsewhere)
    assert output.shape == (QUERIES, D_V)
    assert weights.shape == (QUERIES, KEYS)


@pytest.mark.usefixtures("unchecked")
def test_a_learnt_bandwidth_compiles_into_one_graph() -> None:
    torch.compiler.reset()
    pooling = GaussianPooling(0.5)
    compiled = torch.compile(pooling, backend="eager", fullgraph=True)
    for a, b in zip(compiled(*inputs()), pooling(*inputs()), strict=True):
        torch.testing.assert_close(a, b)


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
        (((5, 2), (0, 2), (0, 3)), "number of keys must be at least 1, got"),
        (((5, 0), (7, 0), (7, 3)), r"query must be .* width >= 1\), got"),
    ],
)
def test_shapes_that_do_not_fit_are_named(
    shapes: tuple[tuple[int, ...], ...], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        gaussian_pooling(*(torch.zeros(shape) for shape in shapes))
