# Made from docs/fast/long.md (5fc42a95cfc3). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""Attention to blocks of keys that each query selects.

Explained in the chapter "Long sequences".
"""

from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor

from attention_book._checks import check_size
from attention_book.attention.caches import KeyValue
from attention_book.attention.positions import RotaryAttention


__all__ = ["BlockSparseAttention", "select_blocks"]


def select_blocks(
    query: Float[Tensor, "*batch queries d_k"],
    key: Float[Tensor, "*batch keys d_k"],
    block_size: int,
    n_selected: int,
) -> Bool[Tensor, "*batch queries blocks"]:
    """Choose each query's own block and the n_selected best before it.

    A block is as good as its mean key fits the query. The last query stands
    at the last key; no block that ends after a query is compared with it.

    Source: Lu et al. (2025), §2.2.
    """
    n, keys = query.shape[-2], key.shape[-2]
    own = torch.arange(keys - n, keys, device=query.device) // block_size
    padded = F.pad(key, (0, 0, 0, -keys % block_size))
    shape = *key.shape[:-2], -1, block_size, key.shape[-1]
    means = padded.reshape(shape).mean(dim=-2)  # (*batch, blocks, d_k)
    blocks = torch.arange(means.shape[-2], device=query.device)
    is_past = blocks < own[:, None]  # (queries, blocks)
    fit = (query @ means.mT).masked_fill(~is_past, -torch.inf)
    best = fit.topk(min(n_selected, len(blocks)), dim=-1).indices
    chosen = torch.zeros_like(fit, dtype=torch.bool).scatter(-1, best, True)
    return (chosen & is_past) | (blocks == own[:, None])


class BlockSparseAttention(RotaryAttention):
    """Causal rotary self-attention to the blocks that each query selects.

    The choice has no gradient; the attention that follows it has. Padding
    may stand at the end only.

    Args:
        d_model: Width of inputs and output.
        n_heads: Number of heads; each selects for itself.
        block_size: Tokens in a block.
        n_selected: How many blocks a query selects beside its own.
        options: Those of MultiHeadAttention.

    Source: Lu et al. (2025), §2.2; Yuan et al. (2025), §3.3.2, for the idea.
    """

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        *,
        block_size: int,
        n_selected: int,
        **options: Any,
    ) -> None:
        super().__init__(d_model, n_heads, **options)
        check_size("block_size", block_size)
        check_size("n_selected", n_selected)
        self.block_size = block_size
        self.n_selected = n_selected

    def attend(
        self, query: Tensor, kv: KeyValue, mask: Tensor | None, is_causal: bool
    ) -> Tensor:
        """Attend with every head, to some hundred queries at a time."""
        if not is_causal:
            raise ValueError("block-sparse attention wants is_causal=True")
        n, keys = query.shape[-2], kv.key.shape[-2]
        if mask is None:
            mask = query.new_ones(keys, dtype=torch.bool)
        mask = mask.expand(*mask.shape[:-2], n, keys)
        group = self.n_heads // self.n_kv_heads
        outputs = []
        end = keys - n
        parts = (torch.split(x, 256, dim=-2) for x in (query, mask))
        for part, rows in zip(*parts, strict=True):
            end += part.shape[-2]
            seen = KeyValue(*(x[..., :end, :] for x in kv))
            each = seen.key.repeat_interleave(group, dim=-3)
            may = select_blocks(part, each, self.block_size, self.n_selected)
            may = may.repeat_interleave(self.block_size, dim=-1)[..., :end]
            may = may & rows[..., :end]
            outputs.append(super().attend(part, seen, may, True))
        return torch.cat(outputs, dim=-2)
