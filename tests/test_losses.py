"""attention_book.training.chunked_loss against PyTorch, in value, gradients and cost."""

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from attention_book import translation_loss
from attention_book.training.chunked_loss import (
    _cross_entropy_forward,
    chunked_cross_entropy,
    chunked_translation_loss,
)
from attention_book.training.loading import make_batch
from tests.factories import compile_backend, make_examples, make_transformer


CPU = torch.device("cpu")
CHUNK_SIZE = 256


def make_inputs(
    n: int, vocab_size: int = 11, d_model: int = 5
) -> tuple[Tensor, Tensor, Tensor]:
    torch.manual_seed(0)
    x = torch.randn(n, d_model, requires_grad=True)
    weight = torch.randn(vocab_size, d_model, requires_grad=True)
    return x, weight, torch.randint(vocab_size, (n,))


@pytest.mark.parametrize("label_smoothing", [0.0, 0.1])
@pytest.mark.parametrize("n", [7, CHUNK_SIZE, 2 * CHUNK_SIZE + 3])
def test_loss_and_gradients_equal_pytorchs(
    n: int, label_smoothing: float
) -> None:
    x, weight, targets = make_inputs(n)
    ours = chunked_cross_entropy(x, weight, targets, label_smoothing)
    theirs = F.cross_entropy(
        x @ weight.T, targets, label_smoothing=label_smoothing
    )
    torch.testing.assert_close(ours, theirs)
    torch.testing.assert_close(
        torch.autograd.grad(3 * ours, (x, weight)),
        torch.autograd.grad(3 * theirs, (x, weight)),
    )


def test_gradients_are_double_where_the_inputs_are() -> None:
    torch.manual_seed(0)
    x = torch.randn(CHUNK_SIZE + 2, 2, dtype=torch.double) * 40  # far from 0
    weight = torch.randn(3, 2, dtype=torch.double)
    targets = torch.randint(3, (CHUNK_SIZE + 2,))
    inputs = [x.requires_grad_(), weight.requires_grad_()]
    ours = chunked_cross_entropy(*inputs, targets, 0.1)
    theirs = F.cross_entropy(x @ weight.T, targets, label_smoothing=0.1)
    torch.testing.assert_close(ours.double(), theirs, rtol=1e-5, atol=0)
    torch.testing.assert_close(  # their dtypes too
        torch.autograd.grad(ours, inputs),
        torch.autograd.grad(theirs, inputs),
        rtol=1e-4,
        atol=1e-7,
    )


def test_bf16_is_close() -> None:
    x, weight, targets = make_inputs(300, d_model=16)
    with torch.autocast("cpu", torch.bfloat16):
        ours = chunked_cross_entropy(x, weight, targets, 0.1)
    theirs = F.cross_entropy(x @ weight.T, targets, label_smoothing=0.1)
    assert ours.dtype == torch.float32
    torch.testing.assert_close(ours, theirs, rtol=0.01, atol=0)
    halves = x.bfloat16(), weight.bfloat16()
    assert chunked_cross_entropy(*halves, targets, 0.1).dtype == torch.float32
    for a, b in zip(
        torch.autograd.grad(ours, (x, weight)),
        torch.autograd.grad(theirs, (x, weight)),
        strict=True,
    ):
        assert a.dtype == torch.float32
        assert (a - b).norm() < 0.02 * b.norm()


@pytest.mark.parametrize("needs_gradients", [True, False])
def test_the_operator_keeps_pytorchs_rules(needs_gradients: bool) -> None:
    x, weight, targets = make_inputs(CHUNK_SIZE + 3)
    if not needs_gradients:
        x = x.detach()
        weight = weight.detach()
    args = (x, weight, targets, 0.1, torch.float32, needs_gradients)
    checks = ["test_schema", "test_autograd_registration", "test_faketensor"]
    if not needs_gradients:  # it would differentiate the gradients as well
        checks.append("test_aot_dispatch_dynamic")
    torch.library.opcheck(_cross_entropy_forward, args, test_utils=checks)


def matrix_products(x: Tensor, weight: Tensor, targets: Tensor) -> int:
    """How many matrix products the loss takes."""
    activities = [torch.profiler.ProfilerActivity.CPU]
    with torch.profiler.profile(activities=activities) as profile:
        chunked_cross_entropy(x, weight, targets)
    counts = {event.key: event.count for event in profile.key_averages()}
    return counts["aten::mm"]


@pytest.mark.filterwarnings("ignore:Warning. Profiler clears events")
def test_gradients_are_computed_only_where_they_are_needed() -> None:
    x, weight, targets = make_inputs(3 * CHUNK_SIZE)
    with_gradients = chunked_cross_entropy(x, weight, targets)
    assert matrix_products(x, weight, targets) == 9
    with torch.no_grad():
        assert matrix_products(x, weight, targets) == 3
        assert chunked_cross_entropy(x, weight, targets) == with_gradients
    assert matrix_products(x.detach(), weight.detach(), targets) == 3
    assert matrix_products(x, weight.detach(), targets) == 9


def test_a_second_derivative_is_refused() -> None:
    x, weight, targets = make_inputs(7)
    loss = chunked_cross_entropy(x, weight, targets)
    grads = torch.autograd.grad(loss, (x, weight), create_graph=True)
    for grad in grads:
        with pytest.raises(
            RuntimeError, match=r"^chunked_cross_entropy can be different"
        ):
            torch.autograd.grad(grad.sum(), x, retain_graph=True)
        with pytest.raises(RuntimeError, match="differentiated once only"):
            torch.autograd.grad(grad.sum() + loss, x, retain_graph=True)


@pytest.mark.parametrize("label_smoothing", [0.0, 0.1])
def test_the_translation_loss_is_the_plain_one(label_smoothing: float) -> None:
    model = make_transformer()
    batch = make_batch(make_examples(6), CPU)
    parameters = list(model.parameters())
    found = []
    for loss_fn in (translation_loss, chunked_translation_loss):
        loss = loss_fn(model, batch, label_smoothing)
        found.append((loss, *torch.autograd.grad(loss, parameters)))
    torch.testing.assert_close(*found, atol=1e-6, rtol=1e-5)


# Inductor imports what torch.jit deprecates.
@pytest.mark.slow
@pytest.mark.filterwarnings(
    "ignore:`torch.jit.script_method` is deprecated:DeprecationWarning"
)
def test_it_compiles_into_one_graph_for_all_lengths(unchecked: None) -> None:
    projection = torch.nn.Linear(3, 5, bias=False)
    torch.compiler.reset()

    def loss_fn(x: Tensor, weight: Tensor, targets: Tensor) -> Tensor:
        return chunked_cross_entropy(projection(x), weight, targets, 0.1)

    compiled = torch.compile(
        loss_fn, fullgraph=True, dynamic=True, backend=compile_backend(CPU)
    )
    for number, n in enumerate((7, CHUNK_SIZE + 2, 3 * CHUNK_SIZE)):
        _, weight, targets = make_inputs(n)
        x = torch.randn(n, 3)
        parameters = [projection.weight, weight]
        stance = "fail_on_recompile" if number else "default"
        with torch.compiler.set_stance(stance):
            quick = compiled(x, weight, targets)
        loss = loss_fn(x, weight, targets)
        torch.testing.assert_close(quick, loss)
        torch.testing.assert_close(
            torch.autograd.grad(quick, parameters),
            torch.autograd.grad(loss, parameters),
        )
