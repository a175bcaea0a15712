"""What sparse weights cost, what pruned heads save: python -m benchmarks.adaptive

Times a layer with each kind of weights, forward and forward with backward,
causal spans with and without the keys that are too far off, and a layer and a
model whose heads are silent or removed. The chapter "Adaptive attention"
quotes the ratios; they are written to results/adaptive-cpu.json and
results/adaptive-spans-cpu.json.
"""

from collections.abc import Callable

import torch
from torch import nn

from attention_book import (
    list_heads,
    prune_heads,
    replace_attention,
    without_heads,
)
from attention_book.attention.entmax import EntmaxAttention
from attention_book.attention.multi_head import MultiHeadAttention
from attention_book.attention.spans import SpanAttention
from attention_book.attention.sparse import EagerAttention, SparsemaxAttention
from attention_book.models.transformer import Transformer
from benchmarks.sidebyside import introduce, keep, report, side_by_side
from experiments.adaptive import Entmax15Attention


D_MODEL, N_HEADS, BATCH = 512, 8, 4
LENGTHS = (128, 512)
LEFT = (4, 2, 1)  # heads of 8
KINDS: dict[str, type[MultiHeadAttention]] = {
    "fused softmax": MultiHeadAttention,
    "softmax": EagerAttention,
    "sparsemax": SparsemaxAttention,
    "1.5-entmax": Entmax15Attention,
    "learnt alpha": EntmaxAttention,
    "span": SpanAttention,
}
OPTIONS = {"span": {"max_span": 32}}
LONG = (512, 2048)  # for spans
Ratios = dict[str, float]


def compare(title: str, entrants: dict[str, Callable[[], object]]) -> Ratios:
    """Time them in turn; each as a multiple of the first."""
    seconds = side_by_side(entrants, rounds=9)
    report(title, seconds)
    first = next(iter(seconds.values()))
    return {name: round(s / first, 2) for name, s in seconds.items()}


def weights(n: int, training: bool) -> Ratios:
    x = torch.randn(BATCH, n, D_MODEL)
    plain = MultiHeadAttention(D_MODEL, N_HEADS)
    layers = {
        name: replace_attention(plain, kind, **OPTIONS.get(name, {}))
        for name, kind in KINDS.items()
    }

    def step(layer: nn.Module) -> None:
        if training:
            layer(x).sum().backward()
        else:
            with torch.no_grad():
                layer(x)

    what = "forward and backward" if training else "forward"
    title = f"{what}, batch {BATCH}, {n} tokens, {N_HEADS} x 64"
    return compare(title, {k: lambda v=v: step(v) for k, v in layers.items()})


class WholeSpanAttention(SpanAttention):
    """Compares queries with all keys, as no layer of the package does."""

    attend = EagerAttention.attend


@torch.no_grad()
def spans(n: int) -> Ratios:
    """A causal layer whose heads see 16 tokens back."""
    x = torch.randn(1, n, D_MODEL)
    plain = MultiHeadAttention(D_MODEL, N_HEADS)
    entrants = {"fused softmax": plain}
    for name, kind in (
        ("span, all keys", WholeSpanAttention),
        ("span", SpanAttention),
    ):
        entrants[name] = replace_attention(plain, kind, max_span=32)
    return compare(
        f"forward, causal, {n} tokens, {N_HEADS} x 64",
        {k: lambda v=v: v(x, is_causal=True) for k, v in entrants.items()},
    )


@torch.no_grad()
def layer(n: int) -> Ratios:
    """One layer that keeps some of its heads."""
    x = torch.randn(BATCH, n, D_MODEL)
    model = nn.ModuleDict({"a": MultiHeadAttention(D_MODEL, N_HEADS)})
    entrants = {f"{N_HEADS} heads": model["a"]}
    lost = {"a": range(LEFT[0], N_HEADS)}
    entrants[f"{LEFT[0]} silent"] = without_heads(model, lost)["a"]
    for k in LEFT:
        small = prune_heads(model, {"a": range(k, N_HEADS)})["a"]
        entrants[f"{k} left"] = small
    return compare(
        f"forward, layer of {N_HEADS} heads, {n} tokens",
        {k: lambda v=v: v(x) for k, v in entrants.items()},
    )


@torch.no_grad()
def model(n: int) -> Ratios:
    """The paper's base model, its feed-forward networks included."""
    whole = Transformer.base(1000).eval()
    source = torch.randint(3, 1000, (BATCH, n))
    lengths = torch.full((BATCH,), n)
    entrants = {f"{N_HEADS} heads": whole}
    for k in (4, 1):
        lost = {name: range(k, N_HEADS) for name in list_heads(whole)}
        if k == 4:
            entrants[f"{k} silent"] = without_heads(whole, lost)
        entrants[f"{k} left"] = prune_heads(whole, lost)
    return compare(
        f"forward, base model, {n} tokens",
        {
            k: lambda v=v: v(source, lengths, source)
            for k, v in entrants.items()
        },
    )


def main() -> None:
    introduce()
    torch.manual_seed(0)
    found = {
        "forward": {n: weights(n, training=False) for n in LENGTHS},
        "forward and backward": {
            n: weights(n, training=True) for n in LENGTHS
        },
        "layer": {n: layer(n) for n in LENGTHS},
        "model": {128: model(128)},
    }
    commands = ["python -m benchmarks.adaptive"]
    keep("adaptive-cpu", commands, {}, **found)
    keep(
        "adaptive-spans-cpu", commands, {}, causal={n: spans(n) for n in LONG}
    )


if __name__ == "__main__":
    main()
