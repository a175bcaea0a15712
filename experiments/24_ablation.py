"""Which heads and layers of a translator does it need: chapter 24.

Heads are silenced by zeros in the output projection, whole layers of attention
by zeros in its bias as well. 200 unseen sentences are translated each time.
"""

from collections.abc import Mapping, Sequence

from attention_book.corpus import detokenize
from attention_book.fast_decoding import Translator
from attention_book.interpret import find_heads, without_heads
from experiments.translators import translator, unseen


SEEDS = range(3)
GROUPS = {  # of attention layers, by the end of their names
    "encoder 1": ("encoder.layers.0.self_attention",),
    "encoder 2": ("encoder.layers.1.self_attention",),
    "encoder": (
        "encoder.layers.0.self_attention",
        "encoder.layers.1.self_attention",
    ),
    "decoder 1": ("decoder.layers.0.self_attention",),
    "decoder 2": ("decoder.layers.1.self_attention",),
    "decoder": (
        "decoder.layers.0.self_attention",
        "decoder.layers.1.self_attention",
    ),
    "cross 1": ("decoder.layers.0.cross_attention",),
    "cross 2": ("decoder.layers.1.cross_attention",),
}


def exact(original: Translator, heads: Mapping[str, Sequence[int]]) -> float:
    """The share of exact translations without these heads."""
    model = without_heads(original.model, heads)
    changed = Translator(model, original.source, original.target)
    sources, targets = zip(*unseen(), strict=True)
    found = changed.translate(sources)
    right = [detokenize(target) for target in targets]
    return sum(map(str.__eq__, found, right)) / len(right)


def run(seed: int) -> dict[str, float]:
    original = translator(seed)
    heads = find_heads(original.model)
    found = {"nothing": exact(original, {})}
    for name, layers in GROUPS.items():
        silent = {layer: heads[layer] for layer in layers}
        found[name] = exact(original, silent)
    alone = {
        f"{layer}.{head}": exact(original, {layer: [head]})
        for layer in heads
        for head in heads[layer]
    }
    falls = [found["nothing"] - value for value in alone.values()]
    found["heads that matter"] = sum(fall > 0.01 for fall in falls)
    found["most from one head"] = max(falls)
    last = "decoder.layers.1.cross_attention"
    for head in heads[last]:
        others = [other for other in heads[last] if other != head]
        found[f"only {head}"] = exact(original, {last: others})
    return found | alone


def tables(results: dict[str, list[float]]) -> dict[str, list[list[str]]]:
    return {}
