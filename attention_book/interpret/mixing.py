# Made from docs/source/explain.md (cb5f26535564). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""Rollout: how attention mixes tokens, layer after layer.

Explained on the page "Tools for explanations".
"""

from collections.abc import Sequence
from functools import reduce
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from attention_book.interpret.probe import trace


__all__ = ["attention_rollout", "mixing_matrices"]


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


def attention_rollout(
    mixing: Float[Tensor, "attentions batch tokens tokens"],
) -> Float[Tensor, "batch tokens tokens"]:
    """Return how much of each token is in each, after all attentions.

    It is the product of mixing_matrices.

    Source: Abnar and Zuidema (2020), §3, eq. 1.
    """
    return reduce(lambda rollout, mix: mix @ rollout, mixing)
