# Made from docs/source/explain.md (10704e59d223). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""Rollout, flow and norms: how attention mixes tokens, layer after layer.

Explained in the chapter "Reading attention".
"""

from collections.abc import Sequence
from functools import reduce
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from attention_book._checks import check_size
from attention_book.attention.multi_head import MultiHeadAttention
from attention_book.interpret.probe import trace


__all__ = [
    "attention_flow",
    "attention_rollout",
    "contribution_norms",
    "mixing_matrices",
]


@torch.no_grad()
def mixing_matrices(
    model: nn.Module, inputs: Sequence[Any]
) -> Float[Tensor, "attentions batch tokens tokens"]:
    """Return for each attention how it mixes tokens, by its weights alone.

    The heads are averaged, and the residual connection counts for half:
    ½ A + ½ I. With cross-attention the tokens are those of the source and
    then those of the target. Cross-attention mixes source into target, and
    each self-attention leaves the other side as it is.

    Args:
        model: A model with multi-head attention.
        inputs: What its forward takes.

    Source: Abnar and Zuidema (2020), §3, for encoders; the part with two
        sides is ours.
    """
    seen = trace(model, inputs, ["*.weights"]).activations
    crosses = [
        site for site in seen if site.endswith("cross_attention.weights")
    ]
    encoder, *_ = seen.values()
    source_length = encoder.shape[-1]
    n = source_length + (seen[crosses[0]].shape[-2] if crosses else 0)
    source = slice(source_length)
    target = slice(source_length, n)
    mixing = []
    for site, weights in seen.items():
        is_target = bool(crosses) and site.startswith("decoder.")
        rows = target if is_target else source
        columns = source if site in crosses else rows
        mix = torch.eye(n).to(weights).repeat(len(weights), 1, 1)
        mix[:, rows, rows] *= 0.5
        mix[:, rows, columns] += 0.5 * weights.mean(dim=1)
        mixing.append(mix)
    return torch.stack(mixing)


def _check_mixing(mixing: Tensor, n_axes: int) -> None:
    """Raise ValueError unless it is of mixing_matrices."""
    square = mixing.shape[-1:] == mixing.shape[-2:-1]
    floating = mixing.is_floating_point()
    if mixing.ndim != n_axes or not (len(mixing) and square and floating):
        raise ValueError(
            f"mixing must have {n_axes} axes, the last of them (tokens, "
            f"tokens), got {mixing.dtype} of shape {tuple(mixing.shape)}"
        )


def attention_rollout(
    mixing: Float[Tensor, "attentions batch tokens tokens"],
) -> Float[Tensor, "batch tokens tokens"]:
    """Return how much of each token is in each, after all attentions.

    It is the product of mixing_matrices.

    Source: Abnar and Zuidema (2020), §3, eq. 1.
    """
    _check_mixing(mixing, 4)
    return reduce(lambda rollout, mix: mix @ rollout, mixing)


def attention_flow(
    mixing: Float[Tensor, "attentions tokens tokens"], source_length: int
) -> Float[Tensor, "outputs {source_length}"]:
    """Return the maximum flow from each output to each token of the source.

    Args:
        mixing: Of one sentence; the weights are the capacities.
        source_length: Tokens of the source. The others are the outputs; if
            there are no others, all are.

    Raises:
        ImportError: networkx is not installed.

    Source: Abnar and Zuidema (2020), §3.
    """
    _check_mixing(mixing, 3)
    n = mixing.shape[-1]
    check_size("source_length", source_length)
    if source_length > n:
        raise ValueError(
            f"source_length must be at most {n}, as many as there are "
            f"tokens, got {source_length}"
        )
    try:
        import networkx as nx  # type: ignore[import-untyped]
    except ImportError:
        wanted = "pip install 'attention-book[interpret]'"
        raise ImportError(f"attention_flow needs networkx: {wanted}") from None

    graph = nx.DiGraph()
    for depth, mix in enumerate(mixing):
        for i, j in mix.nonzero().tolist():
            capacity = mix[i, j].item()
            graph.add_edge((depth + 1, i), (depth, j), capacity=capacity)
    outputs = range(source_length if n > source_length else 0, n)
    flows = [
        nx.maximum_flow_value(graph, (len(mixing), i), (0, j))
        for i in outputs
        for j in range(source_length)
    ]
    return torch.tensor(flows).view(len(outputs), source_length)


@torch.no_grad()
def contribution_norms(
    attention: MultiHeadAttention,
    weights: Float[Tensor, "*batch heads queries keys"],
    memory: Float[Tensor, "*batch keys d_model"],
) -> Float[Tensor, "*batch queries keys"]:
    """The norm of what each key adds to the output of each query.

    Args:
        attention: The layer.
        weights: Its attention weights.
        memory: What its keys and values are made of.

    Source: Kobayashi et al. (2020), eq. 3 and 4; the heads are added up.
    """
    n_heads, d_model = attention.n_heads, attention.d_model
    _, value = attention.keys_and_values(memory)
    value = value.repeat_interleave(n_heads // attention.n_kv_heads, dim=-3)
    wanted = (*value.shape[:-2], weights.shape[-2], value.shape[-2])
    if weights.shape != wanted:
        raise ValueError(
            f"weights must be {wanted} (…, heads, queries, keys), "
            f"got {tuple(weights.shape)}"
        )
    out = attention.out_proj.weight.view(d_model, n_heads, -1)
    added = torch.einsum("...hqk,...hkd,mhd->...qkm", weights, value, out)
    return added.norm(dim=-1)
