# Made from docs/chapters/01-pooling.md (8429fdc14aa1). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
import torch
from jaxtyping import Float
from torch import Tensor, nn

from attention_book.checks import check_inputs, check_width


def gaussian_pooling(
    query: Float[Tensor, "*batch queries d"],
    key: Float[Tensor, "*batch keys d"],
    value: Float[Tensor, "*batch keys d_v"],
    bandwidth: Float[Tensor, ""] | float = 1.0,
) -> tuple[
    Float[Tensor, "*batch queries d_v"], Float[Tensor, "*batch queries keys"]
]:
    """Nadaraya–Watson regression: nearby values, averaged.

    The scores are -‖q - k‖²/2h², so that the weights are Gaussian kernels,
    normalised.

    Args:
        query: Where a value is wanted.
        key: Where values are known.
        value: The known values, one row for each key.
        bandwidth: How near is near, in the unit of query and key.

    Returns:
        The averages, one row for each query, and the weights.

    Raises:
        ValueError: Shapes that do not fit, a bandwidth that is not positive.

    Source: Nadaraya (1964); Watson (1964).
    """
    check_inputs(query, key, value)
    check_width("key", key, query.shape[-1])
    if not bandwidth > 0:
        raise ValueError(f"bandwidth must be positive, got {bandwidth}")
    offset = query.unsqueeze(-2) - key.unsqueeze(-3)  # (.., queries, keys, d)
    scores = -(offset / bandwidth).square().sum(dim=-1) / 2
    weights = scores.softmax(dim=-1)
    return weights @ value, weights


class GaussianPooling(nn.Module):
    """Nadaraya–Watson regression with a learnt bandwidth.

    Args:
        bandwidth: Where to begin; positive.

    Raises:
        ValueError: The bandwidth is not positive.
    """

    def __init__(self, bandwidth: float = 1.0) -> None:
        super().__init__()
        if not bandwidth > 0:
            raise ValueError(f"bandwidth must be positive, got {bandwidth}")
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
