# Made from docs/source/adaptive-layers.md (396befc34cd4). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""Causal attention to near keys alone, in blocks.

Explained on the page "Layers for adaptive attention".
"""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from attention_book.attention.caches import KeyValue


__all__ = ["attend_locally"]


def attend_locally(
    attend: Callable[[Tensor, KeyValue, Tensor | None, bool], Tensor],
    query: Tensor,
    kv: KeyValue,
    width: int,
) -> Tensor:
    """Attend causally, comparing each query with at least width keys.

    Queries are cut into blocks of that width, which are compared with the
    keys of their own block and the one before.

    Args:
        attend: How a layer attends.
        query: (..., heads, length, d_k).
        kv: Keys and values of the same length.
        width: Beyond so many keys back, attend gives no weight.
    """
    blocks = _blocks(query, width)  # (…, blocks, heads, width, d_k)
    twice = KeyValue(*(_with_previous(x, width) for x in kv))
    mask = torch.ones(
        *(blocks.shape[-4], 1, 1, 2 * width),
        dtype=torch.bool,
        device=query.device,
    )
    mask[0, ..., :width] = False  # nothing is before the first block
    heads = attend(blocks, twice, mask, True)
    return heads.movedim(-4, -3).flatten(-3, -2)[..., : query.shape[-2], :]


def _blocks(x: Tensor, width: int) -> Tensor:
    """(…, heads, n, d) as (…, blocks, heads, width, d), zeros at the end."""
    x = F.pad(x, (0, 0, 0, -x.shape[-2] % width))
    x = x.reshape(*x.shape[:-2], -1, width, x.shape[-1])
    return x.movedim(-3, -4)


def _with_previous(x: Tensor, width: int) -> Tensor:
    """The blocks, each behind the one before it."""
    x = _blocks(F.pad(x, (0, 0, width, 0)), width)
    return torch.cat([x[..., :-1, :, :, :], x[..., 1:, :, :, :]], dim=-2)
