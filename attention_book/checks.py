# Made from docs/chapters/30-checks.md (14aeaff62e8d). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
import torch
from torch import Tensor


__all__ = [
    "check_dtype",
    "check_even",
    "check_heads",
    "check_inputs",
    "check_lengths",
    "check_mask",
    "check_rate",
    "check_size",
    "check_vectors",
    "check_width",
    "is_readable",
]


def check_inputs(
    query: Tensor, key: Tensor, value: Tensor, *, enable_gqa: bool = False
) -> None:
    """Raise ValueError unless batches and dtypes agree, and keys have values.

    With enable_gqa one head of keys may serve several heads of queries.
    """
    for name, x in ("query", query), ("key", key), ("value", value):
        if x.ndim < 2 or not x.is_floating_point() or not x.shape[-1]:
            raise ValueError(
                f"{name} must be a floating-point tensor (..., length, width "
                f">= 1), got {x.dtype} of shape {tuple(x.shape)}"
            )
    same = query.dtype == key.dtype == value.dtype
    if not same and not torch.is_autocast_enabled(query.device.type):
        raise ValueError(
            "query, key and value must have one dtype, got "
            f"{query.dtype}, {key.dtype} and {value.dtype}"
        )
    if key.shape[:-1] != value.shape[:-1]:
        raise ValueError(
            "key and value must agree in all but width, got "
            f"key {tuple(key.shape)} and value {tuple(value.shape)}"
        )
    agree = query.shape[:-2] == key.shape[:-2]
    if enable_gqa and query.ndim == key.ndim > 2 and key.shape[-3]:
        same_batch = query.shape[:-3] == key.shape[:-3]
        agree = same_batch and query.shape[-3] % key.shape[-3] == 0
    if not agree:
        raise ValueError(
            "query and key must agree in batch and heads, got "
            f"query {tuple(query.shape)} and key {tuple(key.shape)}"
        )


def check_width(name: str, x: Tensor, width: int) -> None:
    """Raise ValueError unless the last axis of x has that width."""
    if x.shape[-1:] != (width,):
        raise ValueError(
            f"{name} must be {width} wide, got shape {tuple(x.shape)}"
        )


def check_dtype(name: str, x: Tensor, weight: Tensor) -> None:
    """Raise ValueError unless x has the weight's dtype, or under autocast."""
    same = x.dtype == weight.dtype
    if not same and not torch.is_autocast_enabled(x.device.type):
        raise ValueError(
            f"{name} must be {weight.dtype} as the weights are, got {x.dtype}"
        )


def check_vectors(x: Tensor, width: int) -> None:
    """Raise ValueError unless x holds vectors of that width."""
    check_width("x", x, width)
    if x.ndim < 2 or not x.is_floating_point():
        raise ValueError(
            f"x must be a floating-point tensor (..., length, {width}), "
            f"got {x.dtype} of shape {tuple(x.shape)}"
        )


def check_mask(mask: Tensor, shape: tuple[int, ...]) -> None:
    """Raise ValueError unless the mask is boolean and broadcasts to shape."""
    if mask.dtype != torch.bool:
        raise ValueError(
            f"mask must be boolean, True = may attend, got {mask.dtype}"
        )
    sizes = zip(reversed(mask.shape), reversed(shape), strict=False)
    misfits = [m for m, s in sizes if m not in (1, s)]
    if mask.ndim > len(shape) or misfits:
        raise ValueError(
            "mask must broadcast to (..., queries, keys) = "
            f"{tuple(shape)}, got {tuple(mask.shape)}"
        )


def check_size(name: str, size: int, min_size: int = 1) -> None:
    """Raise ValueError unless the size is at least min_size."""
    if size < min_size:
        raise ValueError(f"{name} must be at least {min_size}, got {size}")


def check_rate(name: str, rate: float) -> None:
    """Raise ValueError unless this is a dropout rate."""
    if not 0 <= rate < 1:
        raise ValueError(f"{name} must be in [0, 1), got {rate}")


def check_even(name: str, width: int) -> None:
    """Raise ValueError unless the width is a whole number of pairs."""
    if width < 2 or width % 2:
        raise ValueError(f"{name} must be even and positive, got {width}")


def check_heads(d_model: int, n_heads: int, n_kv_heads: int) -> None:
    """Raise ValueError unless the heads divide the width, and one another."""
    check_size("d_model", d_model)
    if n_heads < 1 or d_model % n_heads:
        raise ValueError(
            f"n_heads must divide d_model = {d_model}, got {n_heads}"
        )
    if n_kv_heads < 1 or n_heads % n_kv_heads:
        raise ValueError(
            f"n_kv_heads must divide n_heads = {n_heads}, got {n_kv_heads}"
        )


def is_readable(x: Tensor | int | float) -> bool:
    """Whether the value of x may be looked at.

    Plain numbers always, tensors on the CPU and not while compiling: a GPU
    would have to be waited for, and a compiler sees no values.
    """
    if not isinstance(x, Tensor):
        return True
    return x.is_cpu and not torch.compiler.is_compiling()


_WHOLE = (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)


def check_lengths(
    name: str, lengths: Tensor, max_length: int, min_length: int = 1
) -> None:
    """Raise ValueError unless lengths are whole numbers in that range.

    The range is checked where lengths are readable, as is_readable says.
    """
    if lengths.ndim != 1 or lengths.dtype not in _WHOLE:
        raise ValueError(
            f"{name} must be whole numbers (batch,), got {lengths.dtype} of "
            f"shape {tuple(lengths.shape)}"
        )
    if not is_readable(lengths) or not len(lengths):
        return
    if lengths.min() < min_length or lengths.max() > max_length:
        raise ValueError(
            f"{name} must be from {min_length} to {max_length}, "
            f"got {lengths.tolist()}"
        )
