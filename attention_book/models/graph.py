# Made from docs/beyond/speech-and-graphs.md (7716b5aad53d). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""Attention on graphs. Explained in the chapter "Speech and graphs"."""

from collections.abc import Iterable

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor, nn

from attention_book._checks import check_size
from attention_book.attention.functional import masked_softmax
from attention_book.attention.multi_head import merge_heads, split_heads
from attention_book.models.config import make_encoder


__all__ = ["GraphAttention", "NodeClassifier", "neighbour_mask"]


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


class GraphAttention(nn.Module):
    """A layer of GAT: each node averages its neighbours, head by head.

    Args:
        d_in: Width of the nodes' vectors.
        d_out: Width of the result, all heads together.
        n_heads: Number of heads; divides d_out.
        slope: Of LeakyReLU, below 0.

    Source: Veličković et al. (2018), §2.1, eq. 1–5, without the σ of eq. 4
        and without dropout.
    """

    def __init__(
        self, d_in: int, d_out: int, n_heads: int, slope: float = 0.2
    ) -> None:
        super().__init__()
        check_size("d_in", d_in)
        check_size("n_heads", n_heads)
        if d_out < 1 or d_out % n_heads:
            raise ValueError(
                f"d_out must be a multiple of n_heads = {n_heads}, got {d_out}"
            )
        self.n_heads = n_heads
        self.slope = slope
        self.proj = nn.Linear(d_in, d_out, bias=False)
        self.a = nn.Parameter(torch.randn(2, n_heads, d_out // n_heads))
        nn.init.xavier_uniform_(self.a)

    def scores(
        self, x: Float[Tensor, "*batch nodes d_in"]
    ) -> Float[Tensor, "*batch heads nodes nodes"]:
        """Return e of eq. 1, row i for what node i gives to each node."""
        h = split_heads(self.proj(x), self.n_heads)  # (…, heads, nodes, d)
        query, key = torch.einsum("...hnd,khd->k...hn", h, self.a)
        return F.leaky_relu(query[..., None] + key[..., None, :], self.slope)

    def weights(
        self,
        x: Float[Tensor, "*batch nodes d_in"],
        mask: Bool[Tensor, "..."] | None = None,
    ) -> Float[Tensor, "*batch heads nodes nodes"]:
        """Return α of eq. 3, row i for what node i gives to each node."""
        return masked_softmax(self.scores(x), mask)

    def forward(
        self,
        x: Float[Tensor, "*batch nodes d_in"],
        mask: Bool[Tensor, "..."] | None = None,
    ) -> Float[Tensor, "*batch nodes d_out"]:
        """Return the nodes among their neighbours.

        Args:
            x: A vector for each node.
            mask: True = may attend; broadcasts to (*batch, heads, nodes,
                nodes).
        """
        h = split_heads(self.proj(x), self.n_heads)
        return merge_heads(self.weights(x, mask) @ h)


class NodeClassifier(nn.Module):
    """A class for each node: linear layer, encoder, linear layer.

    There are no positions, so that the numbering of the nodes can not
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
