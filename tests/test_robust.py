"""Measures by group, and changed images."""

import pytest
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from attention_book import (
    accuracy_by_group,
    equalized_odds_difference,
    expected_calibration_error,
)
from attention_book.evaluation.calibration import fit_temperature
from corpora.biased.images import (
    add_noise,
    adjust_contrast,
    fgsm,
    rotate,
    shift_images,
)


def draw_bools(n: int, seed: int) -> Tensor:
    rng = torch.Generator().manual_seed(seed)
    return torch.rand(n, generator=rng) < 0.5


# measures


def test_each_group_has_its_own_accuracy() -> None:
    right = torch.tensor([True, False, True, True, False, False, True])
    groups = [("a", 1), ("b", 0), ("a", 1), ("b", 0), ("b", 0), "c", ("a", 1)]
    found = accuracy_by_group(right, groups)
    assert found == {("a", 1): 1.0, ("b", 0): 1 / 3, "c": 0.0}
    assert list(found) == [("a", 1), ("b", 0), "c"]


def test_equalized_odds_are_the_largest_gap_of_either_rate() -> None:
    predicted, actual = draw_bools(211, 1), draw_bools(211, 2)
    groups = [("x", "y", "z")[i % 3] for i in range(211)]
    gaps = []
    for answer in (True, False):
        rates = []
        for first in range(3):
            rows = predicted[first::3][actual[first::3] == answer]
            rates.append(rows.double().mean().item())
        gaps.append(max(rates) - min(rates))
    found = equalized_odds_difference(predicted, actual, groups)
    assert found == pytest.approx(max(gaps))
    actual = torch.tensor([True, True, False, False] * 3)
    groups = ["a", "b"] * 6
    assert equalized_odds_difference(actual, actual, groups) == 0
    is_a = torch.tensor([group == "a" for group in groups])
    assert equalized_odds_difference(is_a, actual, groups) == 1


def test_calibration_error_is_that_of_a_loop() -> None:
    rng = torch.Generator().manual_seed(3)
    confidence = torch.rand(97, generator=rng)
    confidence[0], confidence[1] = 0.0, 1.0
    right = draw_bools(97, 4)
    expected = 0.0
    for m in range(5):
        inside = (m / 5 <= confidence) & (confidence < (m + 1) / 5)
        if m == 4:
            inside |= confidence == 1
        gap = right[inside].double().mean() - confidence[inside].mean()
        expected += inside.sum().item() / 97 * gap.abs().item()
    found = expected_calibration_error(confidence, right, 5)
    assert found == pytest.approx(expected, abs=1e-6)
    right = torch.tensor([True, True, True, False])
    assert expected_calibration_error(torch.ones(4), right) == 0.25
    assert expected_calibration_error(right.float(), right) == 0


def test_temperature_has_the_least_loss() -> None:
    rng = torch.Generator().manual_seed(5)
    logits = 3 * torch.randn(101, 7, generator=rng)
    drawn = (logits / 2.5).softmax(dim=1).multinomial(1, generator=rng)
    labels = drawn.squeeze(1)

    def loss(temperature: float) -> float:
        return cross_entropy(logits / temperature, labels).item()

    best = fit_temperature(logits, labels)
    least = min((0.5 + i / 100 for i in range(500)), key=loss)
    assert best == pytest.approx(least, abs=0.01)
    assert loss(best) <= loss(least) + 1e-6
    four = fit_temperature(4 * logits, labels)
    assert four == pytest.approx(4 * best, rel=1e-3)


def test_temperature_at_both_ends() -> None:
    logits, labels = torch.eye(3), torch.arange(3)
    assert fit_temperature(logits, labels) == pytest.approx(0.01, rel=1e-3)
    assert fit_temperature(logits, 2 - labels) > 1
    assert fit_temperature(-logits, labels) == pytest.approx(100, rel=1e-3)


# images


@pytest.mark.parametrize(("down", "right"), [(1, 0), (-2, 1), (0, -3), (5, 7)])
def test_shift_is_that_of_a_loop(down: int, right: int) -> None:
    images = torch.rand(2, 3, 5, 7)
    expected = torch.zeros_like(images)
    for i in range(5):
        for j in range(7):
            if 0 <= i + down < 5 and 0 <= j + right < 7:
                expected[..., i + down, j + right] = images[..., i, j]
    assert torch.equal(shift_images(images, down, right), expected)


def test_rotate_by_quarters() -> None:
    images = torch.rand(2, 1, 7, 7)
    for k in range(5):
        expected = images.rot90(k, (2, 3))
        assert torch.allclose(rotate(images, 90.0 * k), expected, atol=1e-5)


def test_noise_has_its_deviation() -> None:
    images = torch.zeros(50, 1, 11, 11)
    found = add_noise(images, 0.3, torch.Generator().manual_seed(0))
    assert found.std().item() == pytest.approx(0.3, rel=0.03)
    again = add_noise(images, 0.3, torch.Generator().manual_seed(0))
    assert torch.equal(found, again)
    assert not images.any()


def test_contrast_keeps_each_mean() -> None:
    images = torch.rand(3, 2, 5, 7)
    half = adjust_contrast(images, 0.5)
    dims = (1, 2, 3)
    assert torch.allclose(half.mean(dim=dims), images.mean(dim=dims))
    spread = half.std(dim=dims) / images.std(dim=dims)
    assert torch.allclose(spread, torch.full((3,), 0.5))
    assert torch.allclose(adjust_contrast(images, 1.0), images, atol=1e-6)


def test_fgsm_on_a_linear_model() -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Flatten(), nn.Linear(35, 2))
    images = torch.rand(3, 1, 5, 7)
    labels = torch.tensor([0, 1, 1])
    found = fgsm(model, images, labels, 0.1)
    weight = model[1].weight.detach()
    for i, label in enumerate(labels.tolist()):
        away = (weight[1 - label] - weight[label]).sign().view(1, 5, 7)
        assert torch.allclose(found[i], images[i] + 0.1 * away)
    assert not found.requires_grad
    assert not images.requires_grad
    assert all(p.grad is None for p in model.parameters())


# messages


def test_bad_input_is_named() -> None:
    two = torch.tensor([True, True])
    with pytest.raises(ValueError, match="of one length, not empty, got 2 an"):
        accuracy_by_group(two, ["a"])
    with pytest.raises(
        ValueError, match=r"right and groups must.* got 0 and 0"
    ):
        accuracy_by_group(two[:0], [])
    with pytest.raises(ValueError, match=r"from 0\.5 to 1\.5"):
        expected_calibration_error(torch.tensor([0.5, 1.5]), two)
    with pytest.raises(ValueError, match="in actual, got no False in 'a'"):
        equalized_odds_difference(two, two, ["a", "b"])
