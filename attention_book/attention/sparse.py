# Made from docs/source/adaptive-layers.md (6eec9a9835f1). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.autograd.function import FunctionCtx

from attention_book._checks import check_mask, check_number, check_tensor


__all__ = ["entmax", "entmax15", "sparsemax"]


def _sparsemax_threshold(z: Tensor) -> Tensor:
    """Return τ (..., 1) with Σ max(z - τ, 0) = 1."""
    z = z.sort(dim=-1, descending=True).values
    k = torch.arange(1, z.shape[-1] + 1, device=z.device)
    tau = (z.cumsum(dim=-1) - 1) / k  # if the first k are the support
    size = (z > tau).sum(dim=-1, keepdim=True)
    return tau.gather(-1, size - 1)


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


def _bisect_threshold(z: Tensor, alpha: Tensor) -> Tensor:
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


def _powers(z: Tensor, tau: Tensor, alpha: Tensor) -> Tensor:
    return (z - tau).clamp(min=0) ** (1 / (alpha - 1))


class _Entmax(torch.autograd.Function):
    """α-entmax of scores (..., keys) whose largest is 0.

    Source of the gradients: Peters et al. (2019), proposition 1; for that of
    α, Correia et al. (2019), §3, proposition 1.
    """

    @staticmethod
    def forward(x: Tensor, alpha: Tensor, kind: str) -> Tensor:
        z = ((alpha - 1) * x).clamp(min=-2)  # below -1 all weights are 0
        if kind == "sparsemax":
            tau = _sparsemax_threshold(z)
        elif kind == "entmax15":
            tau = _entmax15_threshold(z)
        else:
            tau = _bisect_threshold(z, alpha)
        weights = _powers(z, tau, alpha)
        return weights / weights.sum(dim=-1, keepdim=True)

    @staticmethod
    def setup_context(
        ctx: FunctionCtx, inputs: tuple[Tensor, Tensor, str], output: Tensor
    ) -> None:
        ctx.save_for_backward(output, inputs[1])

    @staticmethod
    def backward(
        ctx: FunctionCtx, grad: Tensor
    ) -> tuple[Tensor, Tensor | None, None]:
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
        return grad_x, grad_alpha, None


def _transform(
    scores: Tensor, alpha: Tensor | float, kind: str, mask: Tensor | None
) -> Tensor:
    """Return the weights, computed in fp32 or fp64."""
    if not scores.numel():
        return scores.clone()
    x = scores.to(torch.promote_types(scores.dtype, torch.float32))
    alpha = torch.as_tensor(alpha, dtype=x.dtype, device=x.device)
    if mask is not None:
        x = x.masked_fill(~mask, torch.finfo(x.dtype).min)
    x = x - x.detach().amax(dim=-1, keepdim=True)
    weights = _Entmax.apply(x, alpha, kind)  # type: ignore[no-untyped-call]
    if mask is not None:
        weights = weights.masked_fill(~mask, 0.0)
    return weights.to(scores.dtype)


def _check(scores: Tensor, mask: Tensor | None) -> None:
    """Raise ValueError unless there are scores, and a mask for them."""
    check_tensor("scores", scores)
    if not scores.ndim or not scores.is_floating_point():
        raise ValueError(
            "scores must be a floating-point tensor (..., keys), got "
            f"{scores.dtype} of shape {tuple(scores.shape)}"
        )
    if mask is not None:
        check_mask(mask, scores.shape)


def sparsemax(
    scores: Float[Tensor, "*batch keys"],
    mask: Bool[Tensor, "..."] | None = None,
) -> Float[Tensor, "*batch keys"]:
    """Project each row of scores onto the simplex: max(s - τ, 0).

    Args:
        scores: Finite numbers.
        mask: True = may attend; broadcasts to the shape of scores.

    Returns:
        Weights that sum to 1, many of them exactly 0. A row whose every key
        is masked is all zeros.

    Raises:
        ValueError: Scores that are no floating-point tensor, or a mask that
            is not boolean or does not broadcast.

    Source: Martins and Astudillo (2016), §2.1 and algorithm 1.
    """
    _check(scores, mask)
    return _transform(scores, 2.0, "sparsemax", mask)


def entmax15(
    scores: Float[Tensor, "*batch keys"],
    mask: Bool[Tensor, "..."] | None = None,
) -> Float[Tensor, "*batch keys"]:
    """Return the 1.5-entmax of each row: max(s/2 - τ, 0)²; as sparsemax.

    Source: Peters et al. (2019), algorithm 2; the threshold is written here
    as the root of a quadratic equation.
    """
    _check(scores, mask)
    return _transform(scores, 1.5, "entmax15", mask)


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
    _check(scores, mask)
    if isinstance(alpha, Tensor):
        sizes = zip(
            reversed(alpha.shape), reversed(scores.shape), strict=False
        )
        fits = all(a in (1, s) for a, s in sizes)
        if (
            alpha.ndim > scores.ndim
            or alpha.shape[-1:] not in ((), (1,))
            or (not fits or not alpha.is_floating_point())
        ):
            raise ValueError(
                "alpha must be floating-point and one for each row of scores "
                f"{tuple(scores.shape)}, got {alpha.dtype} of shape "
                f"{tuple(alpha.shape)}"
            )
    else:
        check_number("alpha", alpha)
        if not 1 < alpha < float("inf"):
            raise ValueError(f"alpha must be above 1, got {alpha}")
    return _transform(scores, alpha, "entmax", mask)
