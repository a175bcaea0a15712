# Made from docs/source/checks.md (50375b9f185c). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
import torch
from jaxtyping import Float
from torch import Tensor, nn

from attention_book._checks import (
    check_inputs,
    check_positive,
    check_size,
    check_width,
    is_readable,
)


__all__ = ["GaussianPooling", "gaussian_pooling"]


def gaussian_pooling(
    query: Float[Tensor, "*batch queries d"],
    key: Float[Tensor, "*batch keys d"],
    value: Float[Tensor, "*batch keys d_v"],
    bandwidth: Float[Tensor, ""] | float = 1.0,
) -> tuple[
    Float[Tensor, "*batch queries d_v"], Float[Tensor, "*batch queries keys"]
]:
    """Nadaraya–Watson regression: values averaged with Gaussian weights.

    The weights are softmax(-‖q - k‖²/2h²).

    Args:
        query: Where a value is wanted.
        key: Where values are known; at least one.
        value: The known values, one row for each key.
        bandwidth: Bandwidth h, in the unit of query and key; positive, which
            is checked unless it lies on a GPU, as that would have to wait.

    Returns:
        The averages, one row for each query, and the weights.

    Raises:
        ValueError: Shapes or dtypes that do not fit, no keys, a bandwidth
            that is not positive.

    Source: Nadaraya (1964); Watson (1964).
    """
    check_inputs(query, key, value)
    check_width("key", key, query.shape[-1])
    check_size("number of keys", key.shape[-2])
    _check_bandwidth(bandwidth)
    offset = (query.unsqueeze(-2) - key.unsqueeze(-3)) / bandwidth
    scores = -_beyond_nearest(offset) / 2  # (*batch, queries, keys)
    weights = scores.softmax(dim=-1)
    return weights @ value, weights


def _check_bandwidth(bandwidth: Tensor | float) -> None:
    """Raise ValueError unless it is one number, positive where readable."""
    if isinstance(bandwidth, Tensor):
        if bandwidth.ndim:
            raise ValueError(
                "bandwidth must be a single number, got a tensor of shape "
                f"{tuple(bandwidth.shape)}"
            )
        if not is_readable(bandwidth):
            return
        bandwidth = bandwidth.item()
    check_positive("bandwidth", bandwidth)


def _beyond_nearest(
    offset: Float[Tensor, "*batch keys d"],
) -> Float[Tensor, "*batch keys"]:
    """Squared lengths of the offsets, less the least of them.

    Where even the least would overflow, lengths are squared in a larger unit.
    """
    largest = torch.finfo(offset.dtype).max
    nearest = offset.detach().abs().amax(dim=-1).amin(dim=-1)
    unit = nearest.clamp(1, largest**0.5)[..., None]
    squares = (offset / unit[..., None]).square().sum(dim=-1)
    squares = squares.clamp(max=largest)
    return (squares - squares.amin(dim=-1, keepdim=True)) * unit.square()


class GaussianPooling(nn.Module):
    """Nadaraya–Watson regression with a learnt bandwidth.

    Args:
        bandwidth: Initial bandwidth; positive.

    Raises:
        ValueError: The bandwidth is not positive.
    """

    def __init__(self, bandwidth: float = 1.0) -> None:
        super().__init__()
        check_positive("bandwidth", bandwidth)
        self.log_bandwidth = nn.Parameter(torch.tensor(bandwidth).log())

    def forward(
        self,
        query: Float[Tensor, "*batch queries d"],
        key: Float[Tensor, "*batch keys d"],
        value: Float[Tensor, "*batch keys d_v"],
    ) -> tuple[
        Float[Tensor, "*batch queries d_v"],
        Float[Tensor, "*batch queries keys"],
    ]:
        """Return the averages, one row for each query, and the weights."""
        return gaussian_pooling(query, key, value, self.log_bandwidth.exp())
