# Made from docs/fast/long.md (b5b35fd7b9f3). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""Causal attention to near keys alone, in blocks.

Explained in the chapter "Long sequences".
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
    n_sinks: int = 0,
) -> Tensor:
    """Let each query attend to the last width keys and the first n_sinks.

    Queries are cut into blocks of that width, which are compared with the
    keys of their own block and the one before, and with the sinks.

    Args:
        attend: How a layer attends.
        query: (*batch, heads, length, d_k).
        kv: Keys and values of the same length.
        width: How many keys a query sees, its own included.
        n_sinks: How many of the first keys are seen by all later queries.
    """
    *batch, _, n, _ = query.shape
    padded = torch.arange(n + -n % width, device=query.device)
    i = padded.view(-1, width, 1)  # (blocks, width, 1)
    j = torch.arange(-width, width, device=query.device) + i[:, :1]
    near = (j >= 0) & (j > i - width) & (j <= i)  # (blocks, width, 2 width)
    # A sink within the window is among the near keys.
    far = torch.arange(n_sinks, device=query.device) <= i - width
    mask = torch.cat([far, near], dim=-1)[:, None]
    mask = mask.expand(*batch, -1, -1, -1, -1).flatten(0, -4)
    keys = KeyValue(*(_with_previous(x, width, n_sinks) for x in kv))
    heads = attend(_blocks(query, width).flatten(0, -4), keys, mask, False)
    heads = heads.view(*batch, -1, *heads.shape[1:]).movedim(-4, -3)
    return heads.flatten(-3, -2)[..., :n, :]


def _blocks(x: Tensor, width: int) -> Tensor:
    """(…, heads, n, d) as (…, blocks, heads, width, d), zeros at the end."""
    x = F.pad(x, (0, 0, 0, -x.shape[-2] % width))
    x = x.reshape(*x.shape[:-2], -1, width, x.shape[-1])
    return x.movedim(-3, -4)


def _with_previous(x: Tensor, width: int, n_sinks: int) -> Tensor:
    """The sinks, the block before and the block itself, for each block."""
    own = _blocks(x, width)
    before = _blocks(F.pad(x, (0, 0, width, 0)), width)
    before = before[..., : own.shape[-4], :, :, :]
    sinks = x[..., None, :, :n_sinks, :].expand(*own.shape[:-2], -1, -1)
    return torch.cat([sinks, before, own], dim=-2).flatten(0, -4)
