# Made from docs/beyond/graphs.md (0a5c754ca09f). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""Graph attention. Explained in the chapter "Graphs and sets"."""

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor, nn

from attention_book.attention.functional import masked_softmax
from attention_book.attention.multi_head import merge_heads, split_heads


__all__ = ["GraphAttention"]


class GraphAttention(nn.Module):
    """A layer of GAT: each node averages its neighbours, head by head.

    Args:
        d_in: Width of the nodes' vectors.
        d_out: Width of the result, all heads together.
        n_heads: Number of heads; divides d_out.

    Source: Veličković et al. (2018), §2.1, eq. 1–5, without the σ of eq. 4
        and without dropout.
    """

    def __init__(self, d_in: int, d_out: int, n_heads: int) -> None:
        super().__init__()
        if n_heads < 1 or d_out % n_heads:
            raise ValueError(
                f"n_heads must divide d_out = {d_out}, got {n_heads}"
            )
        self.n_heads = n_heads
        self.proj = nn.Linear(d_in, d_out, bias=False)
        self.a = nn.Parameter(torch.randn(2, n_heads, d_out // n_heads))
        nn.init.xavier_uniform_(self.a)

    def weights(
        self,
        x: Float[Tensor, "*batch nodes d_in"],
        mask: Bool[Tensor, "..."] | None = None,
    ) -> Float[Tensor, "*batch heads nodes nodes"]:
        """Return α of eq. 3, row i for what node i gives to each node."""
        h = split_heads(self.proj(x), self.n_heads)  # (…, heads, nodes, d)
        query, key = torch.einsum("...hnd,khd->k...hn", h, self.a)
        scores = F.leaky_relu(query[..., None] + key[..., None, :], 0.2)
        return masked_softmax(scores, mask)

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
