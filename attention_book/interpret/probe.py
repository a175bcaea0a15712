# Made from docs/trust/interpret.md (12d4200db7cb). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""Running a model while looking at its activations, and changing some.

Explained in the chapter "Reading attention".
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from torch import Tensor, nn

from attention_book.interpret.sites import match_sites, tap_sites


__all__ = ["Edit", "Trace", "trace"]


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
        ValueError: There is no such site, the model does not pass it, or an
            edit changes its shape.
    """
    edits = dict(edits or {})
    wanted = match_sites(model, sites)
    tapped = wanted | match_sites(model, edits)
    passed: dict[str, Tensor] = {}

    def tap(site: str, x: Tensor) -> Tensor:
        passed[site] = edits[site](x) if site in edits else x
        if passed[site].shape != x.shape:
            raise ValueError(
                f"the edit of {site} must be of shape {tuple(x.shape)}, "
                f"got {tuple(passed[site].shape)}"
            )
        return passed[site]

    output = tap_sites(model, tapped, tap)(*inputs)
    if missed := sorted(tapped - passed.keys()):
        raise ValueError(f"the model does not pass {', '.join(missed)}")
    return Trace(output, {s: x for s, x in passed.items() if s in wanted})
