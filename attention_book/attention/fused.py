# Made from docs/source/fused-attention.md (fd42150ddb69). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""Attention in one kernel. Explained on the page "Fused attention"."""

from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor

from attention_book._checks import check_inputs, check_rate
from attention_book.attention.functional import causal_mask


__all__ = ["fused_attention"]


_BLOCK_SIZE = 256  # queries


def _causal_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None,
    **options: Any,
) -> Tensor:
    """Let no query see past its own position; mask and options as in SDPA.

    PyTorch's is_causal will do for as many queries as keys and no mask
    besides. A single query stands at the last key and sees all. Else blocks
    of queries get the mask of the keys up to their end, so that no mask is
    square; only a compiler, which can not unroll any length, gets it whole.
    """
    queries = query.shape[-2]
    keys = key.shape[-2]
    attend = F.scaled_dot_product_attention
    if queries == 1:
        return attend(query, key, value, mask, **options)
    if mask is None and queries == keys:
        return attend(query, key, value, is_causal=True, **options)
    whole = torch.compiler.is_compiling() or not _BLOCK_SIZE < queries <= keys
    starts = [0] if whole else range(0, queries, _BLOCK_SIZE)
    outputs = []
    for start in starts:
        end = queries if whole else min(start + _BLOCK_SIZE, queries)
        seen = end + keys - queries
        block = causal_mask(end - start, seen, device=query.device)
        if mask is not None:
            rows = mask if mask.shape[-2] == 1 else mask[..., start:end, :]
            block = block & rows[..., :seen]
        output = attend(
            query[..., start:end, :],
            key[..., :seen, :],
            value[..., :seen, :],
            block,
            **options,
        )
        outputs.append(output)
    return outputs[0] if len(outputs) == 1 else torch.cat(outputs, dim=-2)


def fused_attention(
    query: Float[Tensor, "*batch queries d_k"],
    key: Float[Tensor, "*groups keys d_k"],
    value: Float[Tensor, "*groups keys d_v"],
    mask: Bool[Tensor, "..."] | None = None,
    *,
    is_causal: bool = False,
    dropout: float = 0.0,
    enable_gqa: bool = False,
) -> Float[Tensor, "*batch queries d_v"]:
    """Scaled dot-product attention without the matrix of scores.

    PyTorch fuses it with up to two batch axes; on the CPU where d_v = d_k.
    On CUDA call it within compute_context, which keeps cuDNN's kernel out.

    Args:
        query: Queries Q.
        key: Keys K, as wide as the queries.
        value: Values V, one row for each key.
        mask: True = may attend; broadcasts to (*batch, queries, keys).
        is_causal: Mask the future too, as causal_mask does.
        dropout: Dropout rate of the weights; not fused on the CPU.
        enable_gqa: Grouped-query attention: let there be fewer heads of keys
            than of queries, each for as many heads of queries in a row.

    Returns:
        The output, one row for each query.

    Raises:
        ValueError: Shapes that would be broadcast, a mask that is not
            boolean, a rate outside [0, 1).

    Source: Dao et al. (2022), §3.1, algorithm 1.
    """
    check_inputs(query, key, value, mask, enable_gqa=enable_gqa)
    check_rate("dropout", dropout)
    if mask is not None and mask.ndim < 2:
        mask = mask.expand(1, key.shape[-2])
    if missing := (None,) * (4 - query.ndim):  # the kernels want four axes
        query = query[missing]
        key = key[missing]
        value = value[missing]
    attend = _causal_attention if is_causal else F.scaled_dot_product_attention
    output = attend(
        query, key, value, mask, dropout_p=dropout, enable_gqa=enable_gqa
    )
    return output[(0,) * len(missing)] if missing else output
