"""Which heads and layers does a translator need: "Reading attention".

Heads are silenced by zeros in the output projection, whole layers of attention
by zeros in its bias as well. 200 unseen sentences are translated each time.
"""

from collections.abc import Mapping, Sequence

from attention_book import Translator, list_heads, without_heads
from attention_book.tokenizers.punctuation import detokenize
from experiments.record import percent
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
    heads = list_heads(original.model)
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
    names = {
        "什么也不关 | nothing": "nothing",
        "编码器自注意力，第 1 层 | encoder self-attention, layer 1": (
            "encoder 1"
        ),
        "编码器自注意力，第 2 层 | encoder self-attention, layer 2": (
            "encoder 2"
        ),
        "编码器自注意力，两层 | encoder self-attention, both": "encoder",
        "解码器自注意力，第 1 层 | decoder self-attention, layer 1": (
            "decoder 1"
        ),
        "解码器自注意力，第 2 层 | decoder self-attention, layer 2": (
            "decoder 2"
        ),
        "解码器自注意力，两层 | decoder self-attention, both": "decoder",
        "交叉注意力，第 1 层 | cross-attention, layer 1": "cross 1",
        "交叉注意力，第 2 层 | cross-attention, layer 2": "cross 2",
    }
    layers = [["关掉的 | silenced", "全对 | exact"]]
    layers += [[name, percent(results[key])] for name, key in names.items()]
    heads = [["模型 | model", *(f"种子 {s} | seed {s}" for s in SEEDS)]]
    counts = [f"{n:.0f}" for n in results["heads that matter"]]
    heads.append(
        [
            "关掉就少对至少 1 个百分点的头 | heads that cost a point or more",
            *counts,
        ]
    )
    falls = [f"{100 * x:.1f}" for x in results["most from one head"]]
    heads.append(
        [
            "关掉一个头，最多少对几个百分点 | points lost at most by one head",
            *falls,
        ]
    )
    alone = zip(*(results[f"only {head}"] for head in range(4)), strict=True)
    kept = [f"{100 * min(x):.1f}–{100 * max(x):.1f}%" for x in alone]
    title = "第 2 层交叉注意力只留一个头 | cross-attention 2, one head alone"
    heads.append([title, *kept])
    return {"layers": layers, "heads": heads}
