# Made from docs/source/explain.md (34bd8a425b5b). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""The sites of a model, and a copy of it in which some are tapped.

Explained in the chapter "Reading attention".
"""

import copy
from collections.abc import Callable, Iterable
from fnmatch import fnmatchcase
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from attention_book.attention.caches import KeyValue
from attention_book.attention.functional import AdditiveAttention
from attention_book.attention.graph import GraphAttention
from attention_book.attention.multi_head import MultiHeadAttention


__all__ = ["find_sites", "match_sites", "tap_sites"]


def _parts(module: nn.Module) -> tuple[str, ...]:
    """Return the sites within a module."""
    if isinstance(module, MultiHeadAttention):
        return "weights", "heads"
    is_other = isinstance(module, AdditiveAttention | GraphAttention)
    return ("weights",) if is_other else ()


def find_sites(model: nn.Module) -> list[str]:
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


def match_sites(model: nn.Module, patterns: Iterable[str]) -> set[str]:
    """Return the sites that fit a pattern; ValueError if one fits none."""
    sites = find_sites(model)
    found = set()
    for pattern in patterns:
        fit = {site for site in sites if fnmatchcase(site, pattern)}
        if not fit:
            raise ValueError(
                "sites must be of the model, as find_sites lists them, "
                f"got {pattern!r}"
            )
        found |= fit
    return found


_Tap = Callable[[str, Tensor], Tensor]  # takes a site and its activation


def tap_sites(model: nn.Module, sites: set[str], tap: _Tap) -> nn.Module:
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
    identity = torch.eye(kv.key.shape[-2]).to(kv.key)
    rows = KeyValue(kv.key, identity.expand(*kv.key.shape[:-1], -1))
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
