# Made from docs/source/explain.md (420a0d220ccb). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""Running a model while looking at its activations, and changing some.

Explained in the chapter "Reading attention".
"""

import copy
from collections.abc import Callable, Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import partial
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from attention_book.attention.caches import KeyValue
from attention_book.attention.functional import AdditiveAttention
from attention_book.attention.graph import GraphAttention
from attention_book.attention.multi_head import MultiHeadAttention


__all__ = ["Trace", "list_sites", "trace"]


class Trace(NamedTuple):
    """What a model returned, and the activations that were asked for."""

    output: Any
    activations: dict[str, Tensor]


def trace(
    model: nn.Module,
    inputs: Sequence[Any],
    sites: Iterable[str] = (),
    edits: Mapping[str, Callable[[Tensor], Tensor]] | None = None,
) -> Trace:
    """Run a model, look at activations on the way, and change some.

    The model stays as it is. What runs is a copy of its modules, with the
    same parameters, so that gradients reach them.

    Args:
        model: The model.
        inputs: What its forward takes.
        sites: Names of activations that are wanted, or patterns of names
            such as "*.weights".
        edits: For the name of an activation, a function that returns another
            of the same shape, with which the model goes on.

    Returns:
        The output, and the activations in the order in which they came,
        edited ones as edited.

    Raises:
        ValueError: There is no such site, the model does not pass it, or an
            edit changes its shape.
    """
    edits = dict(edits or {})
    wanted = _match_sites(model, sites)
    tapped = wanted | _match_sites(model, edits)
    passed: dict[str, Tensor] = {}

    def tap(site: str, x: Tensor) -> Tensor:
        passed[site] = edits[site](x) if site in edits else x
        if passed[site].shape != x.shape:
            raise ValueError(
                f"the edit of {site} must be of shape {tuple(x.shape)}, "
                f"got {tuple(passed[site].shape)}"
            )
        return passed[site]

    output = _tap_sites(model, tapped, tap)(*inputs)
    if missed := sorted(tapped - passed.keys()):
        raise ValueError(f"the model does not pass {', '.join(missed)}")
    return Trace(output, {s: x for s, x in passed.items() if s in wanted})


def list_sites(model: nn.Module) -> list[str]:
    """Return the names of all sites of a model.

    A site is the output of a module, under the name that named_modules gives
    it. Attention has NAME.weights (batch, heads, queries, keys) as well, and
    multi-head attention NAME.heads (batch, heads, queries, d_k).
    """
    sites = []
    for name, module in model.named_modules(remove_duplicate=False):
        if name and not isinstance(module, nn.ModuleList):
            sites.append(name)
            sites += [f"{name}.{part}" for part in _parts(module)]
    return sites


def _parts(module: nn.Module) -> tuple[str, ...]:
    """Return the sites within a module."""
    if isinstance(module, MultiHeadAttention):
        return "weights", "heads"
    is_other = isinstance(module, AdditiveAttention | GraphAttention)
    return ("weights",) if is_other else ()


def _match_sites(model: nn.Module, patterns: Iterable[str]) -> set[str]:
    """Return the sites that fit a pattern; ValueError if one fits none."""
    sites = list_sites(model)
    found = set()
    for pattern in patterns:
        fit = {site for site in sites if fnmatchcase(site, pattern)}
        if not fit:
            raise ValueError(
                "sites must be of the model, as list_sites lists them, "
                f"got {pattern!r}"
            )
        found |= fit
    return found


_Tap = Callable[[str, Tensor], Tensor]  # takes a site and its activation


def _tap_sites(model: nn.Module, sites: set[str], tap: _Tap) -> nn.Module:
    """Return a copy of a model that goes on with what tap returns."""
    twin = _copy(model)

    def at(site: str) -> Callable[[Any], Any]:
        return partial(tap, site) if site in sites else lambda x: x

    for name, module in twin.named_modules():
        changed: Any = module  # methods of this one module are replaced
        weights = at(f"{name}.weights")
        match module:
            case MultiHeadAttention():
                heads = at(f"{name}.heads")
                if not sites.isdisjoint({f"{name}.weights", f"{name}.heads"}):
                    changed.attend = partial(_attend, module, weights, heads)
            case AdditiveAttention():
                changed.forward = partial(_attend_additively, module, weights)
            case GraphAttention():
                changed.weights = _then(module.weights, weights)
        if name in sites:
            changed.forward = _then(module.forward, at(name))
    return twin


def _then(
    function: Callable[..., Any], change: Callable[[Any], Any]
) -> Callable[..., Any]:
    """Return a function that changes what another returns."""
    return lambda *args, **kwargs: change(function(*args, **kwargs))


def _attend(
    layer: MultiHeadAttention,
    tap_weights: Callable[[Tensor], Tensor],
    tap_heads: Callable[[Tensor], Tensor],
    query: Tensor,
    kv: KeyValue,
    mask: Tensor | None,
    is_causal: bool,
) -> Tensor:
    """Compute the weights, as attention over rows of the identity."""
    n, key = kv.key.shape[-2], kv.key
    identity = torch.eye(n, dtype=key.dtype, device=key.device)
    rows = KeyValue(key, identity.expand(*kv.key.shape[:-1], -1))
    attend = type(layer).attend
    weights = tap_weights(attend(layer, query, rows, mask, is_causal))
    groups = layer.n_heads // layer.n_kv_heads
    return tap_heads(weights @ kv.value.repeat_interleave(groups, dim=-3))


def _attend_additively(
    layer: AdditiveAttention,
    tap_weights: Callable[[Tensor], Tensor],
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """Return the output and the weights."""
    _, weights = type(layer).forward(layer, query, key, value, mask)
    weights = tap_weights(weights)
    return weights @ value, weights


def _copy(module: nn.Module) -> nn.Module:
    """Copy a module and those in it, but no parameter.

    A module that stands in two places becomes two, with a name each.
    """
    twin = copy.copy(module)
    twin._modules = {
        name: child and _copy(child) for name, child in module._modules.items()
    }
    return twin
