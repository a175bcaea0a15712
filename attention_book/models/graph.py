# Made from docs/beyond/graphs.md (dd4fcdae6e86). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""Attention on graphs. Explained in the chapter "Graphs and sets"."""

from collections.abc import Iterable

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from attention_book._checks import check_size
from attention_book.models.config import make_encoder


__all__ = ["NodeClassifier", "neighbour_mask"]


def neighbour_mask(
    edges: Iterable[tuple[int, int]], n_nodes: int
) -> Bool[Tensor, "{n_nodes} {n_nodes}"]:
    """Let each node attend to its neighbours and to itself.

    Raises:
        ValueError: A node of an edge is not from 0 to n_nodes - 1.
    """
    check_size("n_nodes", n_nodes)
    mask = torch.eye(n_nodes, dtype=torch.bool)
    for i, j in edges:
        if not (0 <= i < n_nodes and 0 <= j < n_nodes):
            raise ValueError(
                f"nodes must be from 0 to {n_nodes - 1}, got {(i, j)}"
            )
        mask[i, j] = mask[j, i] = True
    return mask


class NodeClassifier(nn.Module):
    """A class for each node: linear layer, encoder, linear layer.

    There are no positions, so that the numbering of the nodes cannot
    matter. With n_layers = 0 it is a feed-forward network.
    """

    def __init__(
        self,
        d_in: int,
        n_classes: int,
        *,
        d_model: int = 32,
        n_heads: int = 4,
        d_ff: int = 64,
        n_layers: int = 3,
    ) -> None:
        super().__init__()
        self.embed = nn.Linear(d_in, d_model)
        self.encoder = make_encoder(n_layers, d_model, n_heads, d_ff)
        self.head = nn.Linear(d_model, n_classes)

    def forward(
        self,
        x: Float[Tensor, "batch nodes d_in"],
        mask: Bool[Tensor, "..."] | None = None,
    ) -> Float[Tensor, "batch nodes n_classes"]:
        """Return the logits of each node; mask as attention takes it."""
        return self.head(self.encoder(self.embed(x), mask))
