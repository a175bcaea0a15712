"""Random graphs, in which each node counts its steps to a marked one."""

from typing import NamedTuple

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from corpora.minimize import minimize


__all__ = ["Graphs", "hop_distances", "make_graphs", "train_on_graphs"]


class Graphs(NamedTuple):
    """Random graphs, in each of which one node is marked."""

    marks: Float[Tensor, "graphs nodes 1"]  # 1 at the marked node, else 0
    masks: Bool[Tensor, "graphs 1 nodes nodes"]  # neighbours and the node
    labels: Int[Tensor, "graphs nodes"]  # steps to the marked node


def hop_distances(
    mask: Bool[Tensor, "*batch nodes nodes"],
    reached: Bool[Tensor, "*batch nodes"],
    max_distance: int,
) -> Int[Tensor, "*batch nodes"]:
    """Count the steps from each node to the nearest that is reached already.

    Args:
        mask: Neighbours of each node, and the node itself.
        reached: The nodes at distance 0.
        max_distance: What is said of all that are farther, or out of reach.
    """
    distances = torch.full(reached.shape, max_distance)
    for distance in range(max_distance):
        distances[reached & (distances == max_distance)] = distance
        reached = (mask & reached[..., None, :]).any(dim=-1)
    return distances


def make_graphs(
    n: int,
    seed: int,
    *,
    n_nodes: int = 16,
    n_extra: int = 3,
    max_distance: int = 4,
) -> Graphs:
    """Make random trees with a few more edges, and mark a node of each.

    Args:
        n: How many graphs.
        seed: Decides all that is random.
        n_nodes: Nodes of each.
        n_extra: Edges drawn beyond those of the tree; they may coincide.
        max_distance: The distance from which on all count as one class.
    """
    generator = torch.Generator().manual_seed(seed)
    masks = torch.eye(n_nodes, dtype=torch.bool).repeat(n, 1, 1)
    graph = torch.arange(n)
    for node in range(1, n_nodes):  # each joins one before it
        parent = torch.randint(node, (n,), generator=generator)
        masks[graph, node, parent] = True
    for _ in range(n_extra):
        ends = torch.randint(n_nodes, (2, n), generator=generator)
        masks[graph, ends[0], ends[1]] = True
    masks = masks | masks.mT
    order = torch.rand(n, n_nodes, generator=generator).argsort(dim=1)
    masks = masks[graph[:, None, None], order[:, :, None], order[:, None]]
    marked = F.one_hot(
        torch.randint(n_nodes, (n,), generator=generator), n_nodes
    )
    labels = hop_distances(masks, marked.bool(), max_distance)
    return Graphs(marked[..., None].float(), masks[:, None], labels)


def train_on_graphs(
    model: nn.Module,
    x: Float[Tensor, "graphs nodes d_in"],
    mask: Bool[Tensor, "graphs 1 nodes nodes"] | None,
    labels: Int[Tensor, "graphs nodes"],
    *,
    max_steps: int,
    batch_size: int = 64,
    learning_rate: float = 5e-3,
    seed: int = 0,
) -> None:
    """Train a classifier of nodes with cross-entropy, in place.

    Args:
        model: Takes x and mask, returns logits.
        x: The nodes' vectors.
        mask: Which node sees which, or None for all.
        labels: The class of each node.
        max_steps: Number of batches.
        batch_size: Graphs in a batch.
        learning_rate: Its peak, after a tenth of the steps.
        seed: Decides the batches.
    """

    def loss_of(generator: torch.Generator) -> Tensor:
        drawn = torch.randint(len(x), (batch_size,), generator=generator)
        logits = model(x[drawn], None if mask is None else mask[drawn])
        return F.cross_entropy(logits.flatten(0, 1), labels[drawn].flatten())

    minimize(
        model,
        loss_of,
        max_steps=max_steps,
        learning_rate=learning_rate,
        seed=seed,
    )
