# Made from docs/source/checks.md (17d294bdb301). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""Checks of inputs. Explained on the page "Checking inputs"."""

from collections.abc import Collection, Iterable, Mapping, Sized
from numbers import Integral, Real
from types import MappingProxyType, UnionType
from typing import (
    Literal,
    NoReturn,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

import torch
from torch import Tensor


__all__ = [
    "check_cached",
    "check_columns",
    "check_fields",
    "check_head_mask",
    "check_heads",
    "check_inputs",
    "check_lengths",
    "check_mask",
    "check_number",
    "check_rate",
    "check_size",
    "check_source",
    "check_texts",
    "check_token_ids",
    "check_vectors",
    "is_readable",
]


def _refuse(name: str, wanted: str, got: object) -> NoReturn:
    """Raise the ValueError of every check here."""
    raise ValueError(f"{name} must {wanted}, got {got}")


def _brief(x: object) -> str:
    """Return x in a few words, for messages."""
    if isinstance(x, Tensor):
        return f"{x.dtype} of shape {tuple(x.shape)}"
    text = repr(x) if isinstance(x, Real | str | None) else type(x).__name__
    return text if len(text) < 50 else f"{text[:40]}…"


def check_inputs(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None = None,
    *,
    enable_gqa: bool = False,
) -> None:
    """Raise ValueError where a batch, a head or a mask would be broadcast.

    PyTorch itself compares widths, data types and devices.

    Args:
        query: In as many sequences and heads as the keys.
        key: Of any number.
        value: One for each key.
        mask: As check_mask wants it.
        enable_gqa: Let one head of keys serve several heads of queries.
    """
    if key.shape[:-1] != value.shape[:-1]:
        got = f"key {tuple(key.shape)} and value {tuple(value.shape)}"
        _refuse("key and value", "agree in all but width", got)
    agree = query.shape[:-2] == key.shape[:-2]
    if enable_gqa and query.ndim == key.ndim > 2 and key.shape[-3]:
        same_batch = query.shape[:-3] == key.shape[:-3]
        agree = same_batch and query.shape[-3] % key.shape[-3] == 0
    if not agree:
        got = f"query {tuple(query.shape)} and key {tuple(key.shape)}"
        _refuse("query and key", "agree in batch and heads", got)
    if mask is not None:
        check_mask(mask, (*query.shape[:-1], key.shape[-2]))


def check_vectors(x: Tensor, width: int, offset: object = 0) -> None:
    """Raise ValueError unless x is (..., length, width), offset a position.

    A width of 1 would be broadcast, an encoding in whole numbers be cut off,
    and 2.5 be taken for a position.
    """
    fits = x.ndim > 1 and x.shape[-1] == width
    if not fits or not x.is_floating_point():
        wanted = f"be a floating-point tensor (..., length, {width})"
        _refuse("x", wanted, _brief(x))
    if not isinstance(offset, Tensor):
        _check_whole("offset", offset)
    elif offset.ndim or offset.is_floating_point():
        _refuse("offset", "be one whole number", _brief(offset))


def check_mask(mask: Tensor, shape: tuple[int, ...]) -> None:
    """Raise ValueError unless the mask is boolean and broadcasts to shape."""
    if mask.dtype != torch.bool:
        _refuse("mask", "be boolean, True = may attend", mask.dtype)
    sizes = zip(reversed(mask.shape), reversed(shape), strict=False)
    if mask.ndim > len(shape) or any(m not in (1, s) for m, s in sizes):
        wanted = f"broadcast to (..., queries, keys) = {tuple(shape)}"
        _refuse("mask", wanted, tuple(mask.shape))


def check_head_mask(x: Tensor, mask: object) -> None:
    """Raise ValueError for a mask whose batch would be taken for heads.

    Args:
        x: What goes into multi-head attention; three axes are a batch.
        mask: Of three axes it must be (1, queries, keys) then; anything
            that is no tensor passes.
    """
    if not isinstance(mask, Tensor) or not x.ndim == mask.ndim == 3:
        return
    if mask.shape[0] != 1:
        wanted = "have four axes, (batch, heads, queries, keys)"
        _refuse("mask", wanted, tuple(mask.shape))


def _check_whole(name: str, size: object) -> None:
    """Raise ValueError unless this is a whole number; True is none."""
    whole = isinstance(size, Integral | torch.SymInt)
    if not whole or isinstance(size, bool):
        _refuse(name, "be a whole number", _brief(size))


def check_size(
    name: str, size: int, min_size: int = 1, *, even: bool = False
) -> None:
    """Raise ValueError unless the size is whole, and at least min_size."""
    _check_whole(name, size)
    if size < min_size or (even and size % 2):
        wanted = "even and positive" if even else f"at least {min_size}"
        _refuse(name, f"be {wanted}", size)


def check_number(name: str, x: float, *, positive: bool = False) -> None:
    """Raise ValueError unless this is a real number; True is none."""
    if not isinstance(x, Real) or isinstance(x, bool):
        _refuse(name, "be a number", _brief(x))
    if positive and not x > 0:
        _refuse(name, "be positive", x)


def check_rate(name: str, rate: float) -> None:
    """Raise ValueError unless this is a rate, such as that of dropout."""
    check_number(name, rate)
    if not 0 <= rate < 1:
        _refuse(name, "be in [0, 1)", rate)


def check_heads(d_model: int, n_heads: int, n_kv_heads: int) -> None:
    """Raise ValueError unless the heads divide the width, and one another."""
    check_size("d_model", d_model)
    _check_whole("n_heads", n_heads)
    _check_whole("n_kv_heads", n_kv_heads)
    if n_heads < 1 or d_model % n_heads:
        _refuse("n_heads", f"divide d_model = {d_model}", n_heads)
    if n_kv_heads < 1 or n_heads % n_kv_heads:
        _refuse("n_kv_heads", f"divide n_heads = {n_heads}", n_kv_heads)


def check_fields(
    config: object,
    *,
    least: Mapping[str, int] = MappingProxyType({}),
    rates: Collection[str] = (),
    positive: Collection[str] = (),
) -> None:
    """Raise ValueError unless a configuration's fields are of their types.

    Whole numbers are at least 1, ids at least 0, names are among those of
    their Literal. Fields of other types are for the caller to check.

    Args:
        config: A dataclass.
        least: Whole numbers with another least value.
        rates: Numbers that must be in [0, 1).
        positive: Numbers that must be above 0.
    """
    for name, kind in get_type_hints(type(config)).items():
        got = getattr(config, name)
        alternatives = get_origin(kind) in (Literal, Union, UnionType)
        kinds = get_args(kind) if alternatives else (kind,)
        low = least.get(name, 0 if name.endswith("_id") else 1)
        if got is None and type(None) in kinds:
            continue
        if get_origin(kind) is Literal and got not in kinds:
            _refuse(name, f"be one of {kinds}", repr(got))
        if bool in kinds and not isinstance(got, bool):
            _refuse(name, "be True or False", repr(got))
        # type, because isinstance takes True for an int
        if int in kinds and (type(got) is not int or got < low):
            _refuse(name, f"be a whole number >= {low}", repr(got))
        if float in kinds:
            check_number(name, got, positive=name in positive)
        if name in rates:
            check_rate(name, got)


def is_readable(x: Tensor | int | float) -> bool:
    """Whether the value of x may be looked at.

    Plain numbers always, plain tensors on the CPU and not while compiling:
    a GPU would have to be waited for, and a compiler sees no values.
    """
    if not isinstance(x, Tensor):
        return True
    is_plain = type(x) is Tensor  # a subclass may be sharded or have no values
    return is_plain and x.is_cpu and not torch.compiler.is_compiling()


def _check_range(name: str, x: Tensor, low: int, high: int) -> None:
    """Raise ValueError where a number of a readable x is out of range."""
    if not is_readable(x) or not x.numel():
        return
    try:
        lowest, highest = int(x.min()), int(x.max())
    except RuntimeError:  # under torch.vmap there is no single number
        return
    if lowest < low or highest > high:
        got = lowest if lowest < low else highest
        _refuse(name, f"be from {low} to {high}", got)


_WHOLE = (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)


def check_lengths(
    name: str, lengths: Tensor, max_length: int, min_length: int = 1
) -> None:
    """Raise ValueError unless lengths are whole numbers in that range.

    The range is checked where lengths are readable, as is_readable says.
    """
    if lengths.ndim != 1 or lengths.dtype not in _WHOLE:
        _refuse(name, "be whole numbers (batch,)", _brief(lengths))
    _check_range(name, lengths, min_length, max_length)


def check_cached(
    capacity: int,
    length: Tensor | int,
    key: Tensor,
    value: Tensor,
    held: tuple[Tensor, Tensor] | None,
) -> None:
    """Raise ValueError for what a cache would broadcast, cast or cut off.

    Args:
        capacity: Most positions that the cache holds.
        length: How many are taken; looked at where it is readable.
        key: Of the new positions.
        value: Of the same positions, as wide as those held.
        held: The buffers of keys and values; None for none yet.
    """
    n_new = key.shape[-2] if key.ndim > 1 else 0
    taken = int(length) if is_readable(length) else 0
    if taken + n_new > capacity:
        raise ValueError(
            f"the cache holds at most {capacity} positions, "
            f"{taken} are taken, got {n_new} more"
        )
    names = ("key", "value")
    old = held or (key, value)
    batch, dtype = old[0].shape[:-2], old[0].dtype
    for name, x, kept in zip(names, (key, value), old, strict=True):
        shape = (*batch, n_new, *kept.shape[-1:])
        if x.shape != shape or x.dtype != dtype:
            _refuse(name, f"be {dtype} of shape {shape}", _brief(x))


def check_token_ids(name: str, token_ids: Tensor, vocab_size: int) -> None:
    """Raise ValueError unless these are (batch, length) of a vocabulary.

    The range is checked where they are readable, as is_readable says.
    """
    whole = token_ids.dtype in (torch.int32, torch.int64)  # what embeds
    if token_ids.ndim != 2 or not whole:
        _refuse(name, "be int64 or int32 (batch, length)", _brief(token_ids))
    _check_range(name, token_ids, 0, vocab_size - 1)


def check_source(
    source: Tensor, lengths: Tensor, vocab_size: int, min_length: int = 1
) -> None:
    """Raise ValueError unless these are padded sources and their lengths."""
    check_token_ids("source", source, vocab_size)
    check_lengths("lengths", lengths, source.shape[1], min_length)
    if lengths.shape[0] != source.shape[0]:  # len would fix it in an export
        wanted = f"be one for each of {source.shape[0]} sources"
        _refuse("lengths", wanted, lengths.shape[0])


def check_texts(name: str, texts: object) -> None:
    """Raise ValueError unless this can be a sequence of texts.

    One text is none, though Python would hand out its letters.
    """
    if isinstance(texts, str | bytes) or not isinstance(texts, Iterable):
        _refuse(name, "be several texts", _brief(texts))


def check_columns(**columns: Sized) -> None:
    """Raise ValueError unless all are as long as the first, and not empty."""
    lengths = [len(column) for column in columns.values()]
    if len(set(lengths)) > 1 or 0 in lengths:
        got = " and ".join(map(str, lengths))
        _refuse(" and ".join(columns), "be of one length, not empty", got)
