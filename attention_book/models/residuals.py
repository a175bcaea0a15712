# Made from docs/transformer/residuals.md (b32232ae4a3f). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""Residual connections with layer normalisation.

Explained in the chapter "Residual connections and normalisation".
"""

from collections.abc import Callable

from torch import Tensor, nn

from attention_book._checks import check_number, check_rate


__all__ = ["PostNorm", "PreNorm", "residual_connections"]


class PostNorm(nn.Module):
    """Residual connection, then layer normalisation: LayerNorm(x + f(x)).

    Args:
        d_model: Width of the token vectors.
        dropout: Dropout rate of f(x).
        eps: What the normalisation adds to the variance.

    Source: Vaswani et al. (2017), §3.1 and §5.4.
    """

    def __init__(
        self, d_model: int, dropout: float = 0.0, *, eps: float = 1e-5
    ) -> None:
        super().__init__()
        check_rate("dropout", dropout)
        check_number("eps", eps, positive=True)
        self.norm = nn.LayerNorm(d_model, eps=eps)
        self.dropout = nn.Dropout(dropout)

    def forward(
        self, x: Tensor, sublayer: Callable[[Tensor], Tensor]
    ) -> Tensor:
        """Return LayerNorm(x + sublayer(x))."""
        return self.norm(self.add(x, sublayer(x)))

    def add(self, x: Tensor, y: Tensor) -> Tensor:
        """Return x + dropout(y); y of another shape would be broadcast."""
        if y.shape != x.shape:
            wanted = f"return the shape {tuple(x.shape)} of its input"
            raise ValueError(f"sublayer must {wanted}, got {tuple(y.shape)}")
        return x + self.dropout(y)


class PreNorm(PostNorm):
    """Layer normalisation, then the sublayer: x + f(LayerNorm(x)).

    Arguments and parts are those of PostNorm.

    Source: Xiong et al. (2020), figure 1.
    """

    def forward(
        self, x: Tensor, sublayer: Callable[[Tensor], Tensor]
    ) -> Tensor:
        """Return x + sublayer(LayerNorm(x))."""
        return self.add(x, sublayer(self.norm(x)))


def residual_connections(
    n: int, norm: str, d_model: int, dropout: float, eps: float
) -> nn.ModuleList:
    """Return n residual connections, with the norm after them or before."""
    kinds = {"post": PostNorm, "pre": PreNorm}
    if norm not in kinds:
        raise ValueError(f"norm must be 'post' or 'pre', got {norm!r}")
    return nn.ModuleList(
        kinds[norm](d_model, dropout, eps=eps) for _ in range(n)
    )
