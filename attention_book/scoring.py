# Made from docs/chapters/02-scoring.md (086f15029e43). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
import math

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn


def check_inputs(
    query: Tensor, key: Tensor, value: Tensor, *, grouped: bool = False
) -> None:
    """Raise ValueError unless the batches agree and each key has a value.

    Where heads are grouped, one head of keys may serve several of queries.
    """
    for name, x in ("query", query), ("key", key), ("value", value):
        if x.ndim < 2 or not x.is_floating_point():
            raise ValueError(
                f"{name} must be a floating-point tensor (..., rows, width), "
                f"got {x.dtype} of shape {tuple(x.shape)}"
            )
    if key.shape[:-1] != value.shape[:-1]:
        raise ValueError(
            "key and value must agree in all but width, got "
            f"key {tuple(key.shape)} and value {tuple(value.shape)}"
        )
    shared = key.shape[-3] if grouped and key.ndim > 2 else 0
    agree = query.shape[:-2] == key.shape[:-2]
    if shared and query.ndim == key.ndim and query.shape[-3] % shared == 0:
        agree = query.shape[:-3] == key.shape[:-3]
    if not agree:
        raise ValueError(
            "query and key must agree in batch and heads, got "
            f"query {tuple(query.shape)} and key {tuple(key.shape)}"
        )


def check_width(name: str, x: Tensor, width: int) -> None:
    """Raise ValueError unless the last axis of x is as wide as it must be."""
    if x.shape[-1:] != (width,):
        raise ValueError(
            f"{name} must be {width} wide, got shape {tuple(x.shape)}"
        )


def causal_mask(
    n_queries: int,
    n_keys: int | None = None,
    *,
    device: torch.device | str | None = None,
) -> Bool[Tensor, "queries keys"]:
    """Let each query see the keys up to its own position.

    The last query stands at the last key, so that with more keys than
    queries the first keys are a past that every query sees.

    Args:
        n_queries: Number of queries.
        n_keys: Number of keys; by default as many as queries.
        device: Where the mask shall lie; by default torch's own default.

    Returns:
        A boolean mask, True = may attend.

    Source: Vaswani et al. (2017), §3.2.3, "masking out".
    """
    n_keys = n_queries if n_keys is None else n_keys
    everything = torch.ones(n_queries, n_keys, dtype=torch.bool, device=device)
    return everything.tril(n_keys - n_queries)


def padding_mask(
    lengths: Int[Tensor, " batch"], n_keys: int
) -> Bool[Tensor, "batch 1 1 {n_keys}"]:
    """Let every query see the first lengths[b] keys of sentence b.

    Args:
        lengths: How many tokens of each sentence are real.
        n_keys: Number of keys, padding included.

    Returns:
        A boolean mask, True = may attend, that broadcasts to
        (batch, heads, queries, keys). Without an axis of heads, take
        padding_mask(...)[:, 0].
    """
    positions = torch.arange(n_keys, device=lengths.device)
    return positions < lengths[:, None, None, None]


def check_mask(mask: Tensor, shape: tuple[int, ...]) -> None:
    """Raise ValueError unless the mask is boolean and broadcasts to shape."""
    if mask.dtype != torch.bool:
        raise ValueError(
            f"mask must be boolean, True = may attend, got {mask.dtype}"
        )
    sizes = zip(reversed(mask.shape), reversed(shape), strict=False)
    if mask.ndim > len(shape) or any(m not in (1, s) for m, s in sizes):
        raise ValueError(
            "mask must broadcast to (..., queries, keys) = "
            f"{tuple(shape)}, got {tuple(mask.shape)}"
        )


def masked_softmax(
    scores: Float[Tensor, "*batch queries keys"],
    mask: Bool[Tensor, "..."] | None = None,
) -> Float[Tensor, "*batch queries keys"]:
    """Turn each row of scores into weights over the keys that may be seen.

    Args:
        scores: Finite numbers, well above the lowest of their dtype.
        mask: True = may attend; broadcasts to the shape of scores. None
            hides nothing.

    Returns:
        Weights of the same shape. Each row sums to 1, and hidden keys weigh
        exactly 0. A row whose every key is hidden is all zeros.

    Raises:
        ValueError: The mask is not boolean or does not broadcast.
    """
    if mask is None:
        return scores.softmax(dim=-1)
    check_mask(mask, scores.shape)
    lowest = torch.finfo(scores.dtype).min
    weights = scores.masked_fill(~mask, lowest).softmax(dim=-1)
    return weights.masked_fill(~mask, 0.0)


def attend(
    scores: Float[Tensor, "*batch queries keys"],
    value: Float[Tensor, "*batch keys d_v"],
    mask: Bool[Tensor, "..."] | None = None,
) -> tuple[
    Float[Tensor, "*batch queries d_v"], Float[Tensor, "*batch queries keys"]
]:
    """Normalise scores into weights and sum the values: A = softmax(S), AV.

    Args:
        scores: What each query gives each key.
        value: One row for each key.
        mask: True = may attend; broadcasts to the shape of scores.

    Returns:
        The output, one row for each query, and the weights.

    Raises:
        ValueError: Scores and values that do not fit, a mask that is not
            boolean.
    """
    if (*scores.shape[:-2], scores.shape[-1]) != value.shape[:-1]:
        raise ValueError(
            "scores (..., queries, keys) and value (..., keys, width) must "
            f"agree, got {tuple(scores.shape)} and {tuple(value.shape)}"
        )
    weights = masked_softmax(scores, mask)
    return weights @ value, weights


def dot_product_attention(
    query: Float[Tensor, "*batch queries d_k"],
    key: Float[Tensor, "*batch keys d_k"],
    value: Float[Tensor, "*batch keys d_v"],
    mask: Bool[Tensor, "..."] | None = None,
) -> tuple[
    Float[Tensor, "*batch queries d_v"], Float[Tensor, "*batch queries keys"]
]:
    """Attention scored by the dot product: softmax(QKᵀ)V.

    Args:
        query: What is looked for.
        key: What is offered, of the same width as query.
        value: What is given, one row for each key.
        mask: True = may attend; broadcasts to (*batch, queries, keys).

    Returns:
        The output, one row for each query, and the weights.

    Raises:
        ValueError: Shapes that do not fit, or a mask that is not boolean.

    Source: Luong et al. (2015), §3.1, the score called "dot".
    """
    check_inputs(query, key, value)
    check_width("key", key, query.shape[-1])
    return attend(query @ key.transpose(-2, -1), value, mask)


class AdditiveAttention(nn.Module):
    """Attention scored by a small network: v_aᵀ tanh(W_q q + W_k k + b).

    Args:
        d_query: Width of the queries.
        d_key: Width of the keys.
        d_attn: Width d_a of the hidden layer.

    Source: Bahdanau et al. (2015), appendix A.1.2, with a bias b added.
    """

    def __init__(self, *, d_query: int, d_key: int, d_attn: int) -> None:
        super().__init__()
        self.project_query = nn.Linear(d_query, d_attn, bias=False)
        self.project_key = nn.Linear(d_key, d_attn)
        self.score = nn.Linear(d_attn, 1, bias=False)

    def forward(
        self,
        query: Float[Tensor, "*batch queries d_q"],
        key: Float[Tensor, "*batch keys d_k"],
        value: Float[Tensor, "*batch keys d_v"],
        mask: Bool[Tensor, "..."] | None = None,
    ) -> tuple[
        Float[Tensor, "*batch queries d_v"],
        Float[Tensor, "*batch queries keys"],
    ]:
        """Return the output, one row for each query, and the weights.

        Raises:
            ValueError: Widths or shapes that do not fit, a mask that is not
                boolean.
        """
        check_inputs(query, key, value)
        check_width("query", query, self.project_query.in_features)
        check_width("key", key, self.project_key.in_features)
        q = self.project_query(query).unsqueeze(
            -2
        )  # (*batch, queries, 1, d_a)
        k = self.project_key(key).unsqueeze(-3)  # (*batch, 1, keys, d_a)
        scores = self.score(torch.tanh(q + k)).squeeze(-1)
        return attend(scores, value, mask)


def scaled_dot_product_attention(
    query: Float[Tensor, "*batch queries d_k"],
    key: Float[Tensor, "*batch keys d_k"],
    value: Float[Tensor, "*batch keys d_v"],
    mask: Bool[Tensor, "..."] | None = None,
) -> tuple[
    Float[Tensor, "*batch queries d_v"], Float[Tensor, "*batch queries keys"]
]:
    """Scaled dot-product attention, step by step: softmax(QKᵀ/√d_k)V.

    Args:
        query: What is looked for.
        key: What is offered, of the same width as query.
        value: What is given, one row for each key.
        mask: True = may attend; broadcasts to (*batch, queries, keys).

    Returns:
        The output, one row for each query, and the weights.

    Raises:
        ValueError: Shapes that do not fit, or a mask that is not boolean.

    Source: Vaswani et al. (2017), §3.2.1, eq. 1.
    """
    scale = 1 / math.sqrt(query.shape[-1])
    return dot_product_attention(query * scale, key, value, mask)


def join_causal(
    mask: Tensor | None, query: Tensor, key: Tensor
) -> tuple[Tensor | None, bool]:
    """Join a mask with causality, as one mask or as a flag where it will do.

    The flag does with as many queries as keys and no mask besides. A single
    query stands at the last key and sees everything: nothing to hide.
    """
    queries, keys = query.shape[-2], key.shape[-2]
    if queries == 1:
        return mask, False
    if mask is None and queries == keys:
        return None, True
    causal = causal_mask(queries, keys, device=query.device)
    return (causal if mask is None else mask & causal), False


def fused_attention(
    query: Float[Tensor, "*batch queries d_k"],
    key: Float[Tensor, "*groups keys d_k"],
    value: Float[Tensor, "*groups keys d_v"],
    mask: Bool[Tensor, "..."] | None = None,
    *,
    is_causal: bool = False,
    dropout: float = 0.0,
) -> Float[Tensor, "*batch queries d_v"]:
    """Scaled dot-product attention without the matrix of scores.

    PyTorch fuses it where d_v = d_k, with up to two batch axes.

    Args:
        query: What is looked for.
        key: What is offered. Where there are fewer heads of keys, each
            serves as many of queries, one after another.
        value: What is given, one row for each key.
        mask: True = may attend; broadcasts to (*batch, queries, keys).
        is_causal: Hide the future too, as causal_mask does.
        dropout: Share of the weights to drop; not fused on the CPU.

    Returns:
        The output, one row for each query.

    Raises:
        ValueError: Shapes that do not fit, or a mask that is not boolean.

    Source: Dao et al. (2022), §3.1, algorithm 1.
    """
    check_inputs(query, key, value, grouped=True)
    check_width("key", key, query.shape[-1])
    if mask is not None:
        check_mask(mask, (*query.shape[:-1], key.shape[-2]))
        mask = mask if mask.ndim > 1 else mask.expand(1, key.shape[-2])
    if is_causal:
        mask, is_causal = join_causal(mask, query, key)
    if missing := (None,) * (4 - query.ndim):  # the kernels want four axes
        query, key, value = query[missing], key[missing], value[missing]
    grouped = query.shape[-3] != key.shape[-3]
    output = F.scaled_dot_product_attention(
        query, key, value, mask, dropout, is_causal, enable_gqa=grouped
    )
    return output[(0,) * len(missing)] if missing else output
