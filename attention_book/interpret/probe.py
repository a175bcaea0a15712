# Made from docs/source/explain.md (63dede593598). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
import copy
from collections.abc import Callable, Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor, nn

from attention_book._checks import check_tensor
from attention_book.attention.caches import KeyValue
from attention_book.attention.functional import AdditiveAttention
from attention_book.attention.multi_head import MultiHeadAttention
from attention_book.models.graph import GraphAttention


__all__ = ["Edit", "Trace", "find_sites", "trace"]


Edit = Callable[[Tensor], Tensor]


class Trace(NamedTuple):
    """What a model returned, and the activations that were asked for."""

    output: Any
    activations: dict[str, Tensor]


def trace(
    model: nn.Module,
    inputs: Sequence[Any],
    sites: Iterable[str] = (),
    edits: Mapping[str, Edit] | None = None,
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
        ValueError: There is no such site, the model does not pass it, it
            holds no tensor, or an edit changes its shape.
    """
    edits = dict(edits or {})
    wanted = _match(model, sites)
    tapped = wanted | _match(model, edits)
    passed = set()
    activations: dict[str, Tensor] = {}

    def tap(site: str, x: Tensor) -> Tensor:
        if site not in tapped:
            return x
        check_tensor(site, x)
        passed.add(site)
        if site in edits:
            shape = x.shape
            x = edits[site](x)
            check_tensor(f"the edit of {site}", x)
            if x.shape != shape:
                raise ValueError(
                    f"the edit of {site} must be of shape {tuple(shape)}, "
                    f"got {tuple(x.shape)}"
                )
        if site in wanted:
            activations[site] = x
        return x

    output = _with_taps(model, tapped, tap)(*inputs)
    if missed := sorted(tapped - passed):
        raise ValueError(f"the model does not pass {', '.join(missed)}")
    return Trace(output, activations)


_Tap = Callable[[str, Tensor], Tensor]  # takes a site and its activation


class _Tapped(nn.Module):
    """Mixed into a module's class: its output goes through the tap."""

    site: str
    tap: _Tap

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Return what the tap makes of the output."""
        return self.tap(self.site, super().forward(*args, **kwargs))


class _TappedMultiHead(_Tapped, MultiHeadAttention):
    """Multi-head attention with its weights and the outputs of its heads."""

    def attend(
        self, query: Tensor, kv: KeyValue, mask: Tensor | None, is_causal: bool
    ) -> Tensor:
        """Compute the weights, as attention over rows of the identity."""
        identity = torch.eye(kv.key.shape[-2]).to(kv.key)
        rows = identity.expand(*kv.key.shape[:-1], -1)
        weights = super().attend(
            query, KeyValue(kv.key, rows), mask, is_causal
        )
        weights = self.tap(f"{self.site}.weights", weights)
        groups = self.n_heads // self.n_kv_heads
        value = kv.value.repeat_interleave(groups, dim=-3)
        return self.tap(f"{self.site}.heads", weights @ value)


class _TappedAdditive(AdditiveAttention):
    """Additive attention with its weights; its output is a pair."""

    site: str
    tap: _Tap

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        mask: Tensor | None = None,
    ) -> tuple[Tensor, Tensor]:
        """Return the output, and what the tap makes of the weights."""
        _, weights = super().forward(query, key, value, mask)
        weights = self.tap(f"{self.site}.weights", weights)
        return weights @ value, weights


class _TappedGraph(_Tapped, GraphAttention):
    """Graph attention with its weights."""

    def weights(
        self, x: Tensor, mask: Tensor | None = None
    ) -> Float[Tensor, "*batch heads nodes nodes"]:
        """Return what the tap makes of the weights."""
        weights = super().weights(x, mask)
        return self.tap(f"{self.site}.weights", weights)


def _mixin(module: nn.Module) -> tuple[type[nn.Module], tuple[str, ...]]:
    """Return what to mix into a module's class, and the sites it adds."""
    match module:
        case MultiHeadAttention():
            return _TappedMultiHead, ("weights", "heads")
        case AdditiveAttention():
            return _TappedAdditive, ("weights",)
        case GraphAttention():
            return _TappedGraph, ("weights",)
        case _:
            return _Tapped, ()


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
            sites += [f"{name}.{part}" for part in _mixin(module)[1]]
    return sites


def _match(model: nn.Module, patterns: Iterable[str]) -> set[str]:
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


def _with_taps(model: nn.Module, tapped: set[str], tap: _Tap) -> nn.Module:
    """Return a copy of a model whose modules at these sites are tapped."""
    twin = _copy(model)
    for name, module in twin.named_modules():
        mixin, parts = _mixin(module)
        if name and tapped & {name, *(f"{name}.{part}" for part in parts)}:
            kind = type(module)
            module.__class__ = type(kind.__name__, (mixin, kind), {})
            module.site = name
            module.tap = tap
    return twin


def _copy(module: nn.Module) -> nn.Module:
    """Copy a module and those in it, but no parameter.

    A module that stands in two places becomes two, with a name each.
    """
    twin = copy.copy(module)
    twin._modules = {
        name: child and _copy(child) for name, child in module._modules.items()
    }
    return twin
