# Made from docs/source/adaptive-layers.md (b27f0efada32). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""α-entmax of scores, with gradients of its own.

Explained in the chapter "Adaptive attention".
"""

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.autograd.function import FunctionCtx

from attention_book._checks import check_mask, check_number


__all__ = ["entmax", "entmax15", "shift_scores"]


def shift_scores(scores: Tensor, mask: Tensor | None) -> Tensor:
    """Return scores in fp32 or fp64, with the largest of each row at 0.

    Masked ones are far below.

    Raises:
        ValueError: Scores that are not floating-point, or a mask that is not
            boolean or does not broadcast.
    """
    if not scores.ndim or not scores.is_floating_point():
        raise ValueError(
            "scores must be a floating-point tensor (..., keys), got "
            f"{scores.dtype} of shape {tuple(scores.shape)}"
        )
    x = scores.to(torch.promote_types(scores.dtype, torch.float32))
    if mask is not None:
        check_mask(mask, scores.shape)
        x = x.masked_fill(~mask, torch.finfo(x.dtype).min)
    return x - x.detach().amax(dim=-1, keepdim=True) if x.numel() else x


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
        ctx: FunctionCtx, inputs: tuple[Tensor, Tensor | float], output: Tensor
    ) -> None:
        alpha = torch.as_tensor(inputs[1]).to(output)
        ctx.save_for_backward(output, alpha)

    @staticmethod
    def backward(
        ctx: FunctionCtx, grad: Tensor
    ) -> tuple[Tensor, Tensor | None]:
        weights, alpha = ctx.saved_tensors  # type: ignore[attr-defined]
        is_zero = weights == 0
        u = weights.masked_fill(is_zero, 1) ** (2 - alpha)
        u = u.masked_fill(is_zero, 0)
        share = u / u.sum(dim=-1, keepdim=True)
        grad_x = u * (grad - (share * grad).sum(dim=-1, keepdim=True))
        grad_alpha = None
        if ctx.needs_input_grad[1]:  # type: ignore[attr-defined]
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
        rows = (1, *reversed(scores.shape[:-1]))
        sizes = zip(reversed(alpha.shape), rows, strict=False)
        misfits = [a for a, row in sizes if a not in (1, row)]
        fits = alpha.ndim <= scores.ndim and not misfits
        if not fits or not alpha.is_floating_point():
            raise ValueError(
                "alpha must be floating-point and one for each row of scores "
                f"{tuple(scores.shape)}, got {alpha.dtype} of shape "
                f"{tuple(alpha.shape)}"
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
