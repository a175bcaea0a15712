# Made from docs/source/chunked-loss.md (eccbed042887). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""Cross-entropy in chunks. Explained on the page "Cross-entropy in chunks"."""

from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor

from attention_book._checks import check_rate
from attention_book.models.transformer import Transformer
from attention_book.training.loading import Batch
from attention_book.training.losses import translation_loss


__all__ = ["chunked_cross_entropy", "chunked_translation_loss"]


@torch.library.custom_op("attention_book::cross_entropy", mutates_args=())
def _cross_entropy_forward(
    x: Tensor,
    weight: Tensor,
    targets: Tensor,
    label_smoothing: float,
    dtype: torch.dtype,
    needs_gradients: bool,
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the mean loss and its gradients with respect to x and weight.

    Where these are not needed, they are empty.
    """
    n = len(x)
    chunk_size = 4096 if x.is_cuda else 256  # a GPU needs many to be busy
    loss = x.new_zeros((), dtype=torch.float32)
    x_grad = torch.empty_like(x) if needs_gradients else x.new_empty(0)
    weight_grad = (
        torch.zeros_like(weight) if needs_gradients else weight.new_empty(0)
    )
    table = weight.to(dtype)
    for start in range(0, n, chunk_size):
        rows = slice(start, start + chunk_size)
        chunk = x[rows].to(dtype)
        logits = F.linear(chunk, table).float()
        target = targets[rows, None]
        wanted = (1 - label_smoothing) * logits.gather(1, target)
        if label_smoothing:
            wanted += label_smoothing * logits.mean(-1, keepdim=True)
        largest = logits.amax(-1, keepdim=True)
        logits.sub_(largest).exp_()  # a new table would take longer
        total = logits.sum(-1, keepdim=True)
        loss += (largest + total.log() - wanted).sum()
        if needs_gradients:
            grad = logits.div_(total).sub_(label_smoothing / len(weight))
            less = torch.full_like(total, label_smoothing - 1)
            grad = grad.scatter_add_(1, target, less).to(dtype)
            x_grad[rows] = grad @ table
            weight_grad += grad.T @ chunk
    return loss.div_(n), x_grad.div_(n), weight_grad.div_(n)


@_cross_entropy_forward.register_fake
def _cross_entropy_fake(
    x: Tensor, weight: Tensor, *others: Any
) -> tuple[Tensor, Tensor, Tensor]:
    """Return empty tensors of the right shapes, for torch.compile."""
    loss = x.new_empty((), dtype=torch.float32)
    needs_gradients: bool = others[-1]
    if not needs_gradients:
        return loss, x.new_empty(0), weight.new_empty(0)
    return loss, torch.empty_like(x), torch.empty_like(weight)


def _setup_context(ctx: Any, inputs: Any, output: tuple[Tensor, ...]) -> None:
    """Save the gradients, which the forward pass has computed already."""
    ctx.save_for_backward(*output[1:])
    ctx.set_materialize_grads(False)  # None for outputs that are not used


def _backward(
    ctx: Any, grad: Tensor | None, *second: Tensor | None
) -> tuple[Tensor | None, ...]:
    """Scale the saved gradients by the gradient of the loss."""
    if grad is None or any(gradient is not None for gradient in second):
        raise RuntimeError(
            "chunked_cross_entropy can be differentiated once only; for "
            "second derivatives use cross_entropy of training.losses"
        )
    x_grad, weight_grad = ctx.saved_tensors
    return grad * x_grad, grad * weight_grad, *(None,) * 4


_cross_entropy_forward.register_autograd(
    _backward, setup_context=_setup_context
)


def chunked_cross_entropy(
    x: Float[Tensor, "tokens d_model"],
    weight: Float[Tensor, "vocab d_model"],
    targets: Int[Tensor, " tokens"],
    label_smoothing: float = 0.0,
) -> Float[Tensor, ""]:
    """Do what cross_entropy of training.losses does, in chunks.

    Raises:
        ValueError: Not one target for each row, or a number out of range.
        RuntimeError: In the backward pass, if the gradients are
            differentiated in their turn.
    """
    check_rate("label_smoothing", label_smoothing)
    if targets.shape != x.shape[:1]:
        raise ValueError(
            f"targets must be one for each row of x = {tuple(x.shape)}, "
            f"got {tuple(targets.shape)}"
        )
    dtype = x.dtype
    if torch.is_autocast_enabled(x.device.type):
        dtype = torch.get_autocast_dtype(x.device.type)
    needs_gradients = torch.is_grad_enabled() and (
        x.requires_grad or weight.requires_grad
    )
    loss, _, _ = _cross_entropy_forward(
        x, weight, targets, label_smoothing, dtype, needs_gradients
    )
    return loss


def chunked_translation_loss(
    model: Transformer, batch: Batch, label_smoothing: float = 0.0
) -> Float[Tensor, ""]:
    """The loss of translation_loss, by chunked_cross_entropy."""
    return translation_loss(
        model, batch, label_smoothing, chunked_cross_entropy
    )
