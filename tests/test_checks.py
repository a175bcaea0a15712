"""attention_book._checks: what is refused, in which words, and what is not read."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import pytest
import torch
from torch import Tensor

from attention_book._checks import (
    check_fields,
    check_heads,
    check_inputs,
    check_lengths,
    check_mask,
    check_number,
    check_rate,
    check_size,
    check_texts,
    check_vectors,
    is_readable,
)


def zeros(*shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
    return torch.zeros(shape, dtype=dtype)


def test_a_value_may_be_read_on_the_cpu_and_not_while_compiling() -> None:
    assert is_readable(3)
    assert is_readable(0.5)
    assert is_readable(torch.tensor(3))
    assert not is_readable(torch.tensor(3, device="meta"))

    def readable(x: Tensor) -> Tensor:
        return x + int(is_readable(x)) + 10 * int(is_readable(3))

    torch.compiler.reset()
    compiled = torch.compile(readable, backend="eager", fullgraph=True)
    assert readable(torch.tensor(100)) == 111
    assert compiled(torch.tensor(100)) == 110


@pytest.mark.parametrize(
    ("shapes", "says"),
    [
        (((5, 3), (7, 3), (6, 2)), r"key \(7, 3\) and value \(6, 2\)"),
        (((2, 5, 3), (7, 3), (7, 2)), r"query \(2, 5, 3\) and key \(7, 3\)"),
    ],
)
def test_inputs_that_do_not_fit_are_named(
    shapes: tuple[tuple[int, ...], ...], says: str
) -> None:
    with pytest.raises(ValueError, match=says):
        check_inputs(*(zeros(*shape) for shape in shapes))


@pytest.mark.parametrize(
    ("query", "key", "fits"),
    [
        ((2, 6, 5, 3), (2, 2, 7, 3), True),
        ((6, 5, 3), (3, 7, 3), True),
        ((2, 6, 5, 3), (2, 4, 7, 3), False),
        ((2, 6, 5, 3), (1, 2, 7, 3), False),
        ((2, 6, 5, 3), (2, 12, 7, 3), False),
        ((2, 6, 5, 3), (6, 7, 3), False),
        ((2, 6, 5, 3), (2, 0, 7, 3), False),
    ],
)
def test_heads_are_grouped_within_a_sequence(
    query: tuple[int, ...], key: tuple[int, ...], fits: bool
) -> None:
    parts = zeros(*query), zeros(*key), zeros(*key)
    if fits:
        check_inputs(*parts, enable_gqa=True)
        return
    with pytest.raises(ValueError, match="must agree in batch and heads"):
        check_inputs(*parts, enable_gqa=True)


@pytest.mark.parametrize(
    ("mask", "fits"),
    [
        ((5, 7), True),
        ((2, 1, 1, 7), True),
        ((1,), True),
        ((), True),
        ((2, 3, 5, 7), True),
        ((5, 1), True),
        ((7, 5), False),
        ((3, 1, 5, 7), False),
        ((1, 2, 3, 5, 7), False),
        ((2, 1, 7), False),
    ],
)
def test_a_mask_broadcasts_to_the_scores(
    mask: tuple[int, ...], fits: bool
) -> None:
    wanted = (2, 3, 5, 7)
    boolean = zeros(*mask, dtype=torch.bool)
    with pytest.raises(ValueError, match=r"boolean, .* got torch.uint8"):
        check_mask(boolean.byte(), wanted)
    if fits:
        check_mask(boolean, wanted)
        assert boolean.expand(wanted).shape == wanted
        return
    with pytest.raises(ValueError, match=r"broadcast to .* \(2, 3, 5, 7\)"):
        check_mask(boolean, wanted)


@pytest.mark.parametrize(
    ("check", "says"),
    [
        (
            lambda: check_vectors(zeros(3), 3),
            r"x must be .* \(\.\.\., length, 3\), got .* \(3,\)",
        ),
        (
            lambda: check_vectors(zeros(2, 1), 3),
            r"x must be .* \(\.\.\., length, 3\), got .* \(2, 1\)",
        ),
        (
            lambda: check_vectors(zeros(2, 3), 3, zeros(2).long()),
            r"offset must be one whole number, got torch.int64 of .*\(2,\)",
        ),
        (lambda: check_size("n", 0), "n must be at least 1, got 0"),
        (lambda: check_rate("p", 1.0), r"p must be in \[0, 1\), got 1\.0"),
        (
            lambda: check_rate("p", float("nan")),
            r"p must be in \[0, 1\), got nan",
        ),
        (
            lambda: check_size("d", 7, even=True),
            "d must be even and positive, got 7",
        ),
        (lambda: check_size("d", 0, even=True), "d must be even .* got 0"),
        (lambda: check_heads(0, 1, 1), "d_model must be at least 1, got 0"),
        (lambda: check_heads(6, 4, 4), "d_model = 6, got 4"),
        (lambda: check_heads(6, 3, 2), "n_heads = 3, got 2"),
        (
            lambda: check_number("x", 0.0, positive=True),
            "x must be positive, got 0",
        ),
        (lambda: check_texts("t", 10**48), "got 10{48}$"),  # 49 digits
        (lambda: check_texts("t", 10**49), "got 10{39}…$"),
    ],
)
def test_sizes_that_do_not_fit_are_named(
    check: Callable[[], None], says: str
) -> None:
    with pytest.raises(ValueError, match=says):
        check()


def test_the_least_and_the_most_that_fits_is_taken() -> None:
    check_size("n", 1)
    check_size("n", 0, min_size=0)
    check_rate("p", 0.0)
    check_rate("p", 0.99)
    check_number("x", 1e-9, positive=True)
    check_size("d", 2, even=True)
    check_heads(6, 3, 1)
    check_heads(6, 6, 6)
    check_vectors(zeros(2, 5, 3), 3)
    check_lengths("lengths", torch.tensor([1, 5]), 5)
    check_lengths("lengths", torch.tensor([0, 5]), 5, min_length=0)
    check_lengths("lengths", torch.tensor([3], dtype=torch.uint8), 5)


@pytest.mark.parametrize(
    ("lengths", "says"),
    [
        ([0, 5], "sizes must be from 1 to 5, got 0$"),
        ([1, 6], "sizes must be from 1 to 5, got 6$"),
        ([1.0, 5.0], "sizes must be whole numbers .* got torch.float32"),
        ([True, True], "sizes must be whole numbers .* got torch.bool"),
        (3, r"sizes must be whole numbers \(batch,\), .* of shape \(\)"),
    ],
)
def test_lengths_that_do_not_fit_are_named(lengths: object, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        check_lengths("sizes", torch.tensor(lengths), 5)


def test_lengths_elsewhere_are_checked_but_for_their_values() -> None:
    check_lengths("lengths", torch.tensor([9, -1]).to("meta"), 5)
    with pytest.raises(ValueError, match="lengths must be whole numbers"):
        check_lengths("lengths", torch.tensor([1.5]).to("meta"), 5)


@dataclass(frozen=True, kw_only=True)
class Options:
    """A configuration with a field of each kind."""

    n_layers: int = 3
    n_classes: int = 0
    n_kv_heads: int | None = None
    dropout: float = 0.1
    epsilon: float = 1e-5
    scale: float = -2
    tied: bool = False
    norm: Literal["pre", "post"] = "pre"
    betas: tuple[float, float] = (0.9, 0.98)

    def __post_init__(self) -> None:
        check_fields(
            self,
            least={"n_classes": 0},
            rates=["dropout"],
            positive=["epsilon"],
        )


@pytest.mark.parametrize(
    ("name", "got", "says"),
    [
        ("n_layers", 0, "n_layers must be a whole number >= 1, got 0"),
        ("n_layers", 2.0, "n_layers must be a whole number >= 1, got 2.0"),
        ("n_classes", -1, "n_classes must be a whole number >= 0, got -1"),
        ("dropout", 1.0, r"dropout must be in \[0, 1\), got 1.0"),
        ("dropout", "0.1", "dropout must be a number, got '0.1'"),
        ("epsilon", 0.0, "epsilon must be positive, got 0.0"),
        ("scale", True, "scale must be a number, got True"),
        ("tied", 1, "tied must be True or False, got 1"),
        ("norm", "PRE", r"norm must be one of \('pre', 'post'\), got 'PRE'"),
    ],
)
def test_fields_are_what_their_types_say(
    name: str, got: object, says: str
) -> None:
    Options(n_kv_heads=2, scale=0)
    with pytest.raises(ValueError, match=says):
        Options(**{name: got})
