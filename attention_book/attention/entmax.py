# Made from docs/source/adaptive-layers.md (4e93d546e9b8). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""α-entmax of scores, with gradients of its own, and a layer that learns α.

Explained on the page "Layers for adaptive attention".
"""

import math
from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from attention_book._checks import check_number
from attention_book.attention.sparse import EagerAttention, shift_scores


__all__ = ["EntmaxAttention", "entmax", "entmax15"]


def _entmax15_threshold(z: Tensor) -> Tensor:
    """Return τ (..., 1) with Σ max(z - τ, 0)² = 1.

    For a support of k keys that is a quadratic equation in τ.
    """
    z = z.sort(dim=-1, descending=True).values
    k = torch.arange(1, z.shape[-1] + 1, device=z.device)
    total = z.cumsum(dim=-1)
    squares = z.square().cumsum(dim=-1)
    root = (total.square() - k * (squares - 1)).clamp(min=0).sqrt()
    tau = (total - root) / k
    size = (z > tau).sum(dim=-1, keepdim=True)
    return tau.gather(-1, size - 1)


def _bisect_threshold(z: Tensor, alpha: Tensor | float) -> Tensor:
    """Return τ (..., 1) with Σ max(z - τ, 0)^(1/(α-1)) = 1, by bisection.

    With the largest z at 0, τ = -1 is too low and -keys^(1-α) too high.
    """
    high = -(z.shape[-1] ** (1 - alpha)) + torch.zeros_like(z[..., :1])
    low = torch.full_like(high, -1.0)
    for _ in range(53 if z.dtype == torch.float64 else 26):  # binary digits
        middle = (low + high) / 2
        total = _powers(z, middle, alpha).sum(dim=-1, keepdim=True)
        low = torch.where(total >= 1, middle, low)
        high = torch.where(total >= 1, high, middle)
    return low


def _powers(z: Tensor, tau: Tensor, alpha: Tensor | float) -> Tensor:
    return (z - tau).clamp(min=0) ** (1 / (alpha - 1))


class _Entmax(torch.autograd.Function):
    """α-entmax of scores (..., keys) whose largest is 0.

    Source of the gradients: Peters et al. (2019), proposition 1; for that of
    α, Correia et al. (2019), §3, proposition 1.
    """

    generate_vmap_rule = True

    @staticmethod
    def forward(x: Tensor, alpha: Tensor | float) -> Tensor:
        z = ((alpha - 1) * x).clamp(min=-2)  # below -1 all weights are 0
        if isinstance(alpha, float) and alpha == 1.5:
            tau = _entmax15_threshold(z)
        else:
            tau = _bisect_threshold(z, alpha)
        weights = _powers(z, tau, alpha)
        return weights / weights.sum(dim=-1, keepdim=True)

    @staticmethod
    def setup_context(
        ctx: Any, inputs: tuple[Tensor, Tensor | float], output: Tensor
    ) -> None:
        alpha = torch.as_tensor(inputs[1]).to(output)
        ctx.save_for_backward(output, alpha)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor | None]:
        weights, alpha = ctx.saved_tensors
        is_zero = weights == 0
        u = weights.masked_fill(is_zero, 1) ** (2 - alpha)
        u = u.masked_fill(is_zero, 0)
        share = u / u.sum(dim=-1, keepdim=True)
        grad_x = u * (grad - (share * grad).sum(dim=-1, keepdim=True))
        grad_alpha = None
        if ctx.needs_input_grad[1]:
            entropy = -torch.xlogy(weights, weights.masked_fill(is_zero, 1))
            total = entropy.sum(dim=-1, keepdim=True)
            slope = (weights - share) / (alpha - 1) ** 2
            slope = slope + (entropy - share * total) / (alpha - 1)
            grad_alpha = (grad * slope).sum_to_size(alpha.shape)
        return grad_x, grad_alpha


def entmax(
    scores: Float[Tensor, "*batch keys"],
    alpha: float | Float[Tensor, "..."],
    mask: Bool[Tensor, "..."] | None = None,
) -> Float[Tensor, "*batch keys"]:
    """Return the α-entmax of each row: max((α-1)s - τ, 0)^(1/(α-1)).

    Args:
        scores: Finite numbers.
        alpha: Above 1, towards which it becomes softmax; 2 is sparsemax. A
            tensor has one for each row, so that its last axis is of size 1,
            and may be learnt; its values are not checked.
        mask: True = may attend; broadcasts to the shape of scores.

    Returns:
        Weights as of sparsemax.

    Raises:
        ValueError: As of sparsemax, or an alpha that does not fit.

    Source: Peters et al. (2019), §3; Correia et al. (2019), §3.
    """
    x = shift_scores(scores, mask)
    if isinstance(alpha, Tensor):
        if alpha.shape[-1:] not in ((), (1,)):
            raise ValueError(
                "alpha must have one for each row, so that its last axis is "
                f"of size 1, got {tuple(alpha.shape)}"
            )
        alpha = alpha.to(x.dtype)
    else:
        check_number("alpha", alpha)
        if not 1 < alpha < float("inf"):
            raise ValueError(f"alpha must be above 1, got {alpha}")
    if not x.numel():
        return scores.clone()
    weights = _Entmax.apply(x, alpha)  # type: ignore[no-untyped-call]
    if mask is not None:
        weights = weights.masked_fill(~mask, 0.0)
    return weights.to(scores.dtype)


def entmax15(
    scores: Float[Tensor, "*batch keys"],
    mask: Bool[Tensor, "..."] | None = None,
) -> Float[Tensor, "*batch keys"]:
    """Return the 1.5-entmax of each row: max(s/2 - τ, 0)²; as sparsemax.

    Source: Peters et al. (2019), algorithm 2; the threshold is written here
    as the root of a quadratic equation.
    """
    return entmax(scores, 1.5, mask)


class EntmaxAttention(EagerAttention):
    """Multi-head attention whose heads learn how sparse they are.

    Args:
        d_model: Width of inputs and output.
        n_heads: Number of heads, each with an α of its own.
        alpha: What every α is at first.
        options: Those of MultiHeadAttention.

    Source: Correia et al. (2019), §3.
    """

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        *,
        alpha: float = 1.5,
        **options: Any,
    ) -> None:
        super().__init__(d_model, n_heads, **options)
        check_number("alpha", alpha)
        if not 1 < alpha < 2:
            raise ValueError(f"alpha must be between 1 and 2, got {alpha}")
        logit = math.log((alpha - 1) / (2 - alpha))
        self.alpha_logits = nn.Parameter(torch.full((n_heads,), logit))

    @property
    def alpha(self) -> Tensor:
        """The α of each head, between 1 and 2."""
        return 1 + self.alpha_logits.sigmoid()

    def weights(self, scores: Tensor, mask: Tensor | None) -> Tensor:
        """From scores (*batch, heads, queries, keys) to weights."""
        return entmax(scores, self.alpha[:, None, None], mask)
