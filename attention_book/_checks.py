# Made from docs/source/checks.md (530bc6d5266d). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""Checks of inputs. Explained in the chapter "Checking inputs"."""

from collections.abc import Collection, Iterable, Mapping
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
    "check_even",
    "check_fields",
    "check_heads",
    "check_inputs",
    "check_layer_input",
    "check_lengths",
    "check_loss_inputs",
    "check_mask",
    "check_number",
    "check_positive",
    "check_rate",
    "check_size",
    "check_source",
    "check_tensor",
    "check_text",
    "check_texts",
    "check_token_ids",
    "check_vectors",
    "check_whole",
    "check_width",
    "is_readable",
]


def check_tensor(name: str, x: object) -> None:
    """Raise ValueError unless x is a tensor."""
    if not isinstance(x, Tensor):
        _refuse(name, "be a tensor", _brief(x))


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
    widths: tuple[int, int] | None = None,
    enable_gqa: bool = False,
) -> None:
    """Raise ValueError unless these fit together without broadcasting.

    Args:
        query: Of the widths given, or as wide as the keys.
        key: In one dtype with the queries, unless autocast sees to that.
        value: One for each key.
        mask: As check_mask wants it.
        widths: Those of query and key.
        enable_gqa: Let one head of keys serve several heads of queries.
    """
    for name, x in ("query", query), ("key", key), ("value", value):
        check_tensor(name, x)
        if x.ndim < 2 or not x.is_floating_point() or not x.shape[-1]:
            wanted = "be a floating-point tensor (..., length, width >= 1)"
            _refuse(name, wanted, _brief(x))
    d_query, d_key = widths or (query.shape[-1], query.shape[-1])
    check_width("query", query, d_query)
    check_width("key", key, d_key)
    everything = "query, key and value"
    same = query.dtype == key.dtype == value.dtype
    if not same and not torch.is_autocast_enabled(query.device.type):
        got = f"{query.dtype}, {key.dtype} and {value.dtype}"
        _refuse(everything, "have one dtype", got)
    if not query.device == key.device == value.device:
        got = f"{query.device}, {key.device} and {value.device}"
        _refuse(everything, "lie on one device", got)
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


def check_width(name: str, x: Tensor, width: int) -> None:
    """Raise ValueError unless the last axis of x has that width."""
    check_tensor(name, x)
    if x.shape[-1:] != (width,):
        _refuse(name, f"be {width} wide", f"shape {tuple(x.shape)}")


def check_layer_input(name: str, x: Tensor, weight: Tensor) -> None:
    """Raise ValueError unless a layer with this weight can take x.

    Its width is the weight's last axis. Autocast makes dtypes equal.
    """
    check_width(name, x, weight.shape[-1])
    if x.device != weight.device:
        _refuse(name, f"be on {weight.device} as the weights are", x.device)
    if x.dtype != weight.dtype and not (
        x.is_floating_point() and torch.is_autocast_enabled(x.device.type)
    ):
        _refuse(name, f"be {weight.dtype} as the weights are", x.dtype)


def check_vectors(x: Tensor, width: int, offset: object = 0) -> None:
    """Raise ValueError unless x holds vectors of that width.

    The offset is the position of the first of them, one whole number.
    """
    check_width("x", x, width)
    if x.ndim < 2 or not x.is_floating_point():
        wanted = f"be a floating-point tensor (..., length, {width})"
        _refuse("x", wanted, _brief(x))
    if not isinstance(offset, Tensor):
        check_whole("offset", offset)
    elif offset.ndim or offset.is_floating_point():
        _refuse("offset", "be one whole number", _brief(offset))


def check_mask(mask: Tensor, shape: tuple[int, ...]) -> None:
    """Raise ValueError unless the mask is boolean and broadcasts to shape."""
    check_tensor("mask", mask)
    if mask.dtype != torch.bool:
        _refuse("mask", "be boolean, True = may attend", mask.dtype)
    sizes = zip(reversed(mask.shape), reversed(shape), strict=False)
    if mask.ndim > len(shape) or any(m not in (1, s) for m, s in sizes):
        wanted = f"broadcast to (..., queries, keys) = {tuple(shape)}"
        _refuse("mask", wanted, tuple(mask.shape))


def check_whole(name: str, size: object) -> None:
    """Raise ValueError unless this is a whole number; True is none."""
    whole = isinstance(size, Integral | torch.SymInt)
    if not whole or isinstance(size, bool):
        _refuse(name, "be a whole number", _brief(size))


def check_size(name: str, size: int, min_size: int = 1) -> None:
    """Raise ValueError unless the size is whole, and at least min_size."""
    check_whole(name, size)
    if size < min_size:
        _refuse(name, f"be at least {min_size}", size)


def check_number(name: str, x: object) -> None:
    """Raise ValueError unless this is a real number; True is none."""
    if not isinstance(x, Real) or isinstance(x, bool):
        _refuse(name, "be a number", _brief(x))


def check_rate(name: str, rate: float) -> None:
    """Raise ValueError unless this is a dropout rate."""
    check_number(name, rate)
    if not 0 <= rate < 1:
        _refuse(name, "be in [0, 1)", rate)


def check_positive(name: str, x: float) -> None:
    """Raise ValueError unless this is a positive number."""
    check_number(name, x)
    if not x > 0:
        _refuse(name, "be positive", x)


def check_even(name: str, width: int) -> None:
    """Raise ValueError unless the width is a whole number of pairs."""
    check_whole(name, width)
    if width < 2 or width % 2:
        _refuse(name, "be even and positive", width)


def check_heads(d_model: int, n_heads: int, n_kv_heads: int) -> None:
    """Raise ValueError unless the heads divide the width, and one another."""
    check_size("d_model", d_model)
    check_whole("n_heads", n_heads)
    check_whole("n_kv_heads", n_kv_heads)
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

    Whole numbers are at least 1, ids at least 0, numbers are any, names are
    among those of their Literal. Fields of other types are for the caller
    to check.

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
            check_number(name, got)
        if name in rates:
            check_rate(name, got)
        if name in positive:
            check_positive(name, got)


def is_readable(x: Tensor | int | float) -> bool:
    """Whether the value of x may be looked at.

    Plain numbers always, plain tensors on the CPU and not while compiling:
    a GPU would have to be waited for, and a compiler sees no values.
    """
    if not isinstance(x, Tensor):
        return True
    is_plain = type(x) is Tensor  # a subclass may be sharded or have no values
    return is_plain and x.is_cpu and not torch.compiler.is_compiling()


_WHOLE = (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)


def check_lengths(
    name: str, lengths: Tensor, max_length: int, min_length: int = 1
) -> None:
    """Raise ValueError unless lengths are whole numbers in that range.

    The range is checked where lengths are readable, as is_readable says.
    """
    check_tensor(name, lengths)
    if lengths.ndim != 1 or lengths.dtype not in _WHOLE:
        _refuse(name, "be whole numbers (batch,)", _brief(lengths))
    if not is_readable(lengths) or not len(lengths):
        return
    if lengths.min() < min_length or lengths.max() > max_length:
        _refuse(
            name, f"be from {min_length} to {max_length}", lengths.tolist()
        )


def check_token_ids(name: str, token_ids: Tensor, vocab_size: int) -> None:
    """Raise ValueError unless these are (batch, length) of a vocabulary.

    The range is checked where they are readable, as is_readable says.
    """
    check_tensor(name, token_ids)
    whole = token_ids.dtype in (torch.int32, torch.int64)  # what embeds
    if token_ids.ndim != 2 or not whole:
        _refuse(name, "be int64 or int32 (batch, length)", _brief(token_ids))
    _check_range(name, token_ids, vocab_size)


def _check_range(name: str, x: Tensor, end: int) -> None:
    """Raise ValueError where a readable x is below 0, or end and more."""
    if not is_readable(x) or not x.numel():
        return
    lowest, highest = x.aminmax()
    if lowest < 0 or highest >= end:
        wrong = lowest if lowest < 0 else highest
        _refuse(name, f"be from 0 to {end - 1}", int(wrong))


def check_loss_inputs(
    x: Tensor, weight: Tensor, targets: Tensor, label_smoothing: float
) -> None:
    """Raise ValueError unless an output layer's loss can be had of these.

    The range of targets is checked where they are readable.
    """
    check_tensor("weight", weight)
    if weight.ndim != 2:
        _refuse("weight", "be (vocab, d_model)", tuple(weight.shape))
    check_layer_input("x", x, weight)
    check_tensor("targets", targets)
    fits = x.ndim == 2 and targets.shape == x.shape[:1]
    if targets.dtype != torch.int64 or not fits:
        wanted = f"be int64, one for each row of x = {tuple(x.shape)}"
        _refuse("targets", wanted, _brief(targets))
    _check_range("targets", targets, len(weight))
    check_rate("label_smoothing", label_smoothing)


def check_source(
    source: Tensor, lengths: Tensor, vocab_size: int, min_length: int = 1
) -> None:
    """Raise ValueError unless these are padded sources and their lengths."""
    check_token_ids("source", source, vocab_size)
    check_lengths("lengths", lengths, source.shape[1], min_length)
    if lengths.shape[0] != source.shape[0]:  # len would fix it in an export
        wanted = f"be one for each of {source.shape[0]} sources"
        _refuse("lengths", wanted, lengths.shape[0])


def check_text(name: str, text: object) -> None:
    """Raise ValueError unless this is a text."""
    if not isinstance(text, str):
        _refuse(name, "be a text", _brief(text))


def check_texts(name: str, texts: object) -> None:
    """Raise ValueError unless this can be a sequence of texts.

    One text is none, though Python would hand out its letters.
    """
    if isinstance(texts, str | bytes) or not isinstance(texts, Iterable):
        _refuse(name, "be several texts", _brief(texts))
