# Made from docs/source/fused-attention.md (a5d0fdd5b48c). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""FlashAttention as a function of PyTorch, with its backward pass.

Explained on the page "Fused attention".
"""

from typing import Any, no_type_check

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor

from attention_book._checks import check_inputs, check_lengths
from attention_book.attention.flash_kernel import (
    forward_kernel,
    jit,
    load_rows,
    score,
)


try:
    import triton
    import triton.language as tl
    from triton.language import constexpr
except ModuleNotFoundError:  # there are wheels for Linux alone
    triton = constexpr = None


__all__ = ["flash_attention"]


@jit
@no_type_check
def _backward_kernel(
    tensors,
    sizes,
    D: constexpr,
    CAUSAL: constexpr,
    TILE_Q: constexpr,
    TILE_K: constexpr,
):
    """Compute gradients of a tile of keys and values, and add to queries'."""
    q_ptr, k_ptr, v_ptr, lengths_ptr, do_ptr, lse_ptr, delta_ptr = tensors[:7]
    dq_ptr, dk_ptr, dv_ptr = tensors[7:]
    n_heads, group, n_queries, n_keys, scale = sizes
    tiles = tl.cdiv(n_keys, TILE_K)
    first = tl.program_id(0) % tiles * TILE_K
    kv_head = (tl.program_id(0) // tiles).to(tl.int64)
    seen = tl.load(lengths_ptr + kv_head * group // n_heads)
    shift = n_keys - n_queries

    columns = tl.arange(0, D)[None, :]
    keys = first + tl.arange(0, TILE_K)
    k = load_rows(k_ptr + kv_head * n_keys * D, keys, seen, D)
    v = load_rows(v_ptr + kv_head * n_keys * D, keys, seen, D)
    dk = tl.zeros([TILE_K, D], tl.float32)
    dv = tl.zeros([TILE_K, D], tl.float32)

    start = tl.maximum(first - shift, 0) // TILE_Q * TILE_Q if CAUSAL else 0
    end = tl.where(first < seen, n_queries, 0)
    for head in range(kv_head * group, kv_head * group + group):
        for i in range(start, end, TILE_Q):
            rows = i + tl.arange(0, TILE_Q)
            there = rows < n_queries
            q = load_rows(q_ptr + head * n_queries * D, rows, n_queries, D)
            do = load_rows(do_ptr + head * n_queries * D, rows, n_queries, D)
            places = head * n_queries + rows
            lse = tl.load(lse_ptr + places, mask=there, other=0.0)
            delta = tl.load(delta_ptr + places, mask=there, other=0.0)
            s = score(q, k, scale, rows, keys, seen, shift, CAUSAL, True)
            p = tl.exp2(s - lse[:, None])
            dv += tl.dot(tl.trans(p).to(do.dtype), do, input_precision="ieee")
            dp = tl.dot(do, tl.trans(v), input_precision="ieee")
            ds = (p * (dp - delta[:, None])).to(q.dtype)
            dk += tl.dot(tl.trans(ds), q, input_precision="ieee")
            dq = tl.dot(ds, k, input_precision="ieee") * scale
            cells = places[:, None] * D + columns
            tl.atomic_add(dq_ptr + cells, dq, there[:, None], "relaxed")
    inside = (keys < n_keys)[:, None]
    cells = (kv_head * n_keys + keys[:, None]) * D + columns
    kind = dk_ptr.dtype.element_ty
    tl.store(dk_ptr + cells, (dk * scale).to(kind), mask=inside)
    tl.store(dv_ptr + cells, dv.to(kind), mask=inside)


# Without a GPU Triton can interpret kernels, if asked to when it is imported.
_IS_INTERPRETED = triton is not None and triton.knobs.runtime.interpret
_MAX_WIDTH = 128  # of a head
_DTYPES = (torch.float16, torch.bfloat16, torch.float32)


def _tiles(d: int, dtype: torch.dtype, backward: bool) -> dict[str, int]:
    """Rows of a tile, and how it is run: chosen by hand, not tuned."""
    half = dtype != torch.float32
    return {
        "TILE_Q": 128 if half and not backward else 64 if half else 32,
        "TILE_K": 64 if half else 32,
        "num_warps": 4 if half and d <= 64 else 8,
        "num_stages": 2,
    }


def _pad(x: Tensor) -> Tensor:
    """Make x contiguous and its width a power of two, 16 at least."""
    d = x.shape[-1]
    x = F.pad(x, (0, max(16, triton.next_power_of_2(d)) - d))
    if _IS_INTERPRETED and x.dtype == torch.bfloat16:
        x = x.float()  # the interpreter multiplies bf16 wrongly
    return x.contiguous()


def _launch(
    kernel: Any, tensors: tuple[Tensor, ...], d_k: int, is_causal: bool
) -> None:
    """Run a kernel for each tile of each head, of queries or of keys."""
    q, k = tensors[:2]
    batch, n_heads, n_queries, d = q.shape
    n_kv_heads, n_keys = k.shape[1:3]
    tiles = _tiles(d, q.dtype, backward=kernel is not forward_kernel)
    programs = batch * n_heads * triton.cdiv(n_queries, tiles["TILE_Q"])
    if kernel is _backward_kernel:
        programs = batch * n_kv_heads * triton.cdiv(n_keys, tiles["TILE_K"])
    if programs:
        group = n_heads // n_kv_heads
        sizes = n_heads, group, n_queries, n_keys, d_k**-0.5
        with torch.cuda.device_of(q):  # type: ignore[no-untyped-call]
            run = kernel[(programs,)]
            run(tensors, sizes, D=d, CAUSAL=is_causal, **tiles)


@torch.library.custom_op("attention_book::flash_attention", mutates_args=())
def _forward(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    lengths: Tensor,
    is_causal: bool,
) -> tuple[Tensor, Tensor]:
    """Return the output and log2 of the sum of exponentials of each row."""
    if triton is None:
        raise ModuleNotFoundError(
            "flash_attention needs Triton, which there is for Linux alone, "
            'run first: pip install "attention-book[triton]"'
        )
    if query.is_cpu and not _IS_INTERPRETED:
        raise ValueError(
            "flash_attention wants a GPU, or TRITON_INTERPRET=1 in the "
            "environment before Triton is imported, got cpu"
        )
    q, k, v = (_pad(x) for x in (query, key, value))
    output = torch.empty_like(q)
    lse = q.new_empty(q.shape[:3], dtype=torch.float32)
    d_k = query.shape[3]
    _launch(forward_kernel, (q, k, v, lengths, output, lse), d_k, is_causal)
    return output[..., :d_k].to(query.dtype).contiguous(), lse


@_forward.register_fake
def _forward_fake(query: Tensor, *_: Any) -> tuple[Tensor, Tensor]:
    """Return empty tensors of the right shapes, for torch.compile."""
    lse = query.new_empty(query.shape[:3], dtype=torch.float32)
    return query.new_empty(query.shape), lse


@torch.library.custom_op("attention_book::flash_backward", mutates_args=())
def _gradients(
    grad: Tensor,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    lengths: Tensor,
    output: Tensor,
    lse: Tensor,
    is_causal: bool,
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the gradients of queries, keys and values."""
    delta = (grad.float() * output.float()).sum(dim=-1)
    q, k, v, do = (_pad(x) for x in (query, key, value, grad))
    dq = torch.zeros_like(q, dtype=torch.float32)
    gradients = dq, torch.empty_like(k), torch.empty_like(v)
    inputs = q, k, v, lengths, do, lse, delta
    d_k = query.shape[3]
    _launch(_backward_kernel, (*inputs, *gradients), d_k, is_causal)
    dq, dk, dv = (x[..., :d_k].to(query.dtype).contiguous() for x in gradients)
    return dq, dk, dv


@_gradients.register_fake
def _gradients_fake(
    grad: Tensor, query: Tensor, key: Tensor, value: Tensor, *_: Any
) -> tuple[Tensor, Tensor, Tensor]:
    """Return empty tensors, as _forward_fake does."""
    dq, dk, dv = (x.new_empty(x.shape) for x in (query, key, value))
    return dq, dk, dv


def _setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
    *tensors, ctx.is_causal = inputs
    ctx.save_for_backward(*tensors, *output)


def _backward(ctx: Any, grad: Tensor, _: Tensor) -> tuple[Tensor | None, ...]:
    gradients = _gradients(grad, *ctx.saved_tensors, ctx.is_causal)
    return *gradients, None, None


_forward.register_autograd(_backward, setup_context=_setup_context)


def flash_attention(
    query: Float[Tensor, "*batch queries d_k"],
    key: Float[Tensor, "*groups keys d_k"],
    value: Float[Tensor, "*groups keys d_k"],
    lengths: Int[Tensor, " batch"] | None = None,
    *,
    is_causal: bool = False,
) -> Float[Tensor, "*batch queries d_k"]:
    """Scaled dot-product attention in the book's own kernel, on a GPU.

    It knows neither dropout nor other masks, as fused_attention does, and has
    first derivatives alone. On a GPU the last bits of the gradient of queries
    differ between runs. The CPU has Triton's interpreter, which is slow.

    Args:
        query: Queries Q. The axis before them is that of the heads.
        key: Keys K. Where there are fewer heads of keys, each serves as many
            heads of queries in a row.
        value: Values V, as wide as the keys.
        lengths: How many keys of each sequence are real; they come first.
        is_causal: Mask the future too, as causal_mask does.

    Returns:
        The output; zeros for a query that sees no key.

    Raises:
        ValueError: Shapes that would be broadcast, widths that differ or are
            above 128, other numbers than fp16, bf16 and fp32, lengths out of
            range, a mask in their place.

    Source: Dao (2024), §3.1, algorithms 1 and 2.
    """
    check_inputs(query, key, value, enable_gqa=True)
    widths = {x.shape[-1] for x in (query, key, value)}
    if len(widths) > 1 or max(widths) > _MAX_WIDTH:
        raise ValueError(
            "query, key and value must be of one width, at most "
            f"{_MAX_WIDTH}, got {sorted(widths)}"
        )
    dtypes = {x.dtype for x in (query, key, value)}
    if len(dtypes) > 1 or not dtypes <= {*_DTYPES}:
        raise ValueError(
            f"query, key and value must be of one of {_DTYPES}, got {dtypes}"
        )
    batch = query.shape[:-3].numel()
    n_keys = key.shape[-2]
    if lengths is None:
        lengths = torch.full((batch,), n_keys, device=query.device)
    if lengths.dtype == torch.bool:
        raise ValueError(
            "lengths must be whole numbers, got a boolean mask, "
            "which is for fused_attention"
        )
    check_lengths("lengths", lengths, n_keys, min_length=0)
    if lengths.shape != (batch,):
        raise ValueError(
            f"lengths must be one for each of {batch} sequences, "
            f"got {tuple(lengths.shape)}"
        )
    q, k, v = (
        x.reshape(batch, *(x.shape[-3:] if x.ndim > 2 else (1, *x.shape)))
        for x in (query, key, value)
    )
    output, _ = _forward(q, k, v, lengths.int(), is_causal)
    return output.reshape(query.shape)
