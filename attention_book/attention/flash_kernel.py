# Made from docs/fast/flash.md (0b7c0004fbca). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""A kernel of FlashAttention. Explained in "FlashAttention by hand"."""

from typing import Any, no_type_check


try:
    import triton
    import triton.language as tl
    from triton.language import constexpr
except ModuleNotFoundError:  # there are wheels for Linux alone
    triton = constexpr = None


__all__ = ["forward_kernel", "jit", "load_rows", "score"]


def jit(kernel: Any) -> Any:
    """Compile a kernel when it is first run; no kernel runs without Triton."""
    return kernel if triton is None else triton.jit(kernel)


@jit
@no_type_check
def load_rows(ptr, rows, n, D: constexpr):
    """Load rows of width D, of which there are n; beyond them are zeros."""
    cells = rows[:, None] * D + tl.arange(0, D)[None, :]
    return tl.load(ptr + cells, mask=(rows < n)[:, None], other=0.0)


@jit
@no_type_check
def score(
    q, k, scale, rows, keys, seen, shift, CAUSAL: constexpr, MASKED: constexpr
):
    """Score a tile, in base 2; -inf where a query may not attend."""
    s = tl.dot(q, tl.trans(k), input_precision="ieee")
    s *= scale * 1.4426950408889634  # log2(e)
    if MASKED:
        visible = (keys < seen)[None, :]
        if CAUSAL:
            visible = visible & (keys[None, :] <= rows[:, None] + shift)
        s = tl.where(visible, s, float("-inf"))
    return s


@jit
@no_type_check
def forward_kernel(
    tensors,
    sizes,
    D: constexpr,
    CAUSAL: constexpr,
    TILE_Q: constexpr,
    TILE_K: constexpr,
):
    """Attend with one tile of the queries of one head."""
    q_ptr, k_ptr, v_ptr, lengths_ptr, o_ptr, lse_ptr = tensors
    n_heads, group, n_queries, n_keys, scale = sizes
    tiles = tl.cdiv(n_queries, TILE_Q)
    first = tl.program_id(0) % tiles * TILE_Q
    head = (tl.program_id(0) // tiles).to(tl.int64)
    k_ptr += head // group * n_keys * D
    v_ptr += head // group * n_keys * D

    rows = first + tl.arange(0, TILE_Q)
    q = load_rows(q_ptr + head * n_queries * D, rows, n_queries, D)
    largest = tl.full([TILE_Q], float("-inf"), tl.float32)
    total = tl.zeros([TILE_Q], tl.float32)
    output = tl.zeros([TILE_Q, D], tl.float32)

    seen = tl.load(lengths_ptr + head // n_heads)
    shift = n_keys - n_queries
    whole = tl.minimum(seen, first + shift + 1) if CAUSAL else seen
    whole = tl.maximum(whole, 0) // TILE_K * TILE_K
    end = tl.minimum(seen, first + shift + TILE_Q) if CAUSAL else seen
    for MASKED in tl.static_range(2):  # tiles that all see whole come first
        for j in range(whole * MASKED, end if MASKED else whole, TILE_K):
            keys = j + tl.arange(0, TILE_K)
            k = load_rows(k_ptr, keys, seen, D)
            v = load_rows(v_ptr, keys, seen, D)
            s = score(q, k, scale, rows, keys, seen, shift, CAUSAL, MASKED)
            new = tl.maximum(largest, tl.max(s, 1))
            base = tl.where(new == float("-inf"), 0.0, new)
            p = tl.exp2(s - base[:, None])
            correction = tl.exp2(largest - base)
            total = total * correction + tl.sum(p, 1)
            output *= correction[:, None]
            output += tl.dot(p.to(v.dtype), v, input_precision="ieee")
            largest = new

    is_empty = total == 0.0
    total = tl.where(is_empty, 1.0, total)
    output = (output / total[:, None]).to(o_ptr.dtype.element_ty)
    there = rows < n_queries
    cells = (head * n_queries + rows[:, None]) * D + tl.arange(0, D)[None, :]
    tl.store(o_ptr + cells, output, mask=there[:, None])
    lse = tl.where(is_empty, 0.0, largest + tl.log2(total))
    tl.store(lse_ptr + head * n_queries + rows, lse, mask=there)
