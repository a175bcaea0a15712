"""An induction head found, watched as it forms, and silenced.

The model of two layers of "Induction heads and the logit lens" and one of a
single layer learn to go on with a row of tokens that repeats. The baseline
needs no induction: no token comes again before eight others, so it names one
that occurred before but is not among the last seven.
"""

from typing import Any

import torch
from torch import Tensor, nn

from attention_book import trace, without_heads
from literate.chapter import defined_in


SEEDS = range(3)
CHAPTER = "docs/source/circuits.md"
PARTS = (
    "torch",
    "trace",
    "without_heads",
    "nn",
    "AttentionOnly",
    "measure",
    "train",
)
STEPS = {"one": (1, 1000), "two": (2, 400)}  # layers and steps
SURE = 0.95
FEWEST = 8  # tokens before a row begins again


@torch.no_grad()
def read_without(
    model: nn.Module, ids: Tensor, again: Tensor, head: int
) -> dict[str, float]:
    """Accuracy when a part of layer 2 cannot read a head of layer 1.

    Path patching: the whole model runs with the queries, the keys or the
    values of layer 2 replaced by those of a run without the head.
    """
    query, kv = "layers.1.q_proj", "layers.1.kv_proj"
    broken = without_heads(model, {"layers.0": [head]})
    other = trace(broken, [ids], [query, kv]).activations
    d = other[query].shape[-1]
    found = {}
    for part, site, columns in (
        ("queries", query, slice(d)),
        ("keys", kv, slice(d)),
        ("values", kv, slice(d, None)),
    ):
        new = trace(model, [ids], [site]).activations[site].clone()
        new[..., columns] = other[site][..., columns]
        edits = {site: lambda _, new=new: new}
        logits = trace(model, [ids], edits=edits).output
        right = logits[:, :-1].argmax(dim=-1) == ids[:, 1:]
        found[part] = right[again[:, 1:]].float().mean().item()
    return found


def not_among_the_last(ids: Tensor) -> Tensor:
    """For each position, which tokens occurred, but not in the last seven."""
    n = int(ids.max()) + 1
    seen = nn.functional.one_hot(ids, n).cumsum(dim=1)
    last = (
        seen
        - nn.functional.pad(seen, (0, 0, FEWEST - 1, 0))[:, : ids.shape[1]]
    )
    return (seen > 0) & (last == 0)


def run(seed: int) -> dict[str, float]:
    cells: dict[str, Any] = defined_in(CHAPTER, *PARTS)
    found: dict[str, float] = {}
    for name, (n_layers, max_steps) in STEPS.items():
        model, test, history = cells["train"](n_layers, seed, max_steps, 20)
        _, accuracy, previous, prefix = history[-1]
        found[f"{name}, accuracy"] = accuracy
        found[f"{name}, previous"] = previous[0].max().item()
        found[f"{name}, prefix"] = prefix[-1].max().item()
        ids, again = test
        candidates = not_among_the_last(ids)[:, :-1]
        asked = again[:, 1:]
        found["baseline"] = (1 / candidates.sum(dim=-1))[asked].mean().item()
        with torch.no_grad():
            answers = model(ids)[:, :-1].argmax(dim=-1, keepdim=True)
        inside = candidates.gather(2, answers)[..., 0]
        found[f"{name}, inside"] = inside[asked].float().mean().item()
    found["steps"] = min(row[0] for row in history if row[1] >= SURE)

    def without(heads: dict[str, list[int]]) -> float:
        changed = without_heads(model, heads)
        accuracy: float = cells["measure"](changed, *test)[0]
        return accuracy

    ordered = prefix[1].argsort(descending=True).tolist()
    found["without the best"] = without({"layers.1": ordered[:1]})
    found["without the other"] = without({"layers.1": ordered[1:]})
    found["without both"] = without({"layers.1": ordered})
    found["second prefix"] = prefix[1].min().item()
    before = previous[0].argsort(descending=True).tolist()
    found["without previous"] = without({"layers.0": before[:1]})
    parts = read_without(model, *test, before[0])
    found |= {f"{part} without previous": x for part, x in parts.items()}
    return found


def tables(results: dict[str, list[float]]) -> dict[str, list[list[str]]]:
    rows = {
        "正确率到 95% 的步数 | steps to 95% accuracy": [
            f"{int(step)}" for step in results["steps"]
        ]
    }
    names = {
        "正确率 | accuracy": "two, accuracy",
        "前缀匹配，最高的头 | prefix matching, best head": "two, prefix",
        "前缀匹配，另一个头 | prefix matching, other head": "second prefix",
        "关掉最高的头 | without the best head": "without the best",
        "关掉另一个头 | without the other head": "without the other",
        "第二层都关掉 | without both": "without both",
        "关掉前一词元头 | without the previous-token head": (
            "without previous"
        ),
        "只有键读不到它 | only the keys cannot read it": (
            "keys without previous"
        ),
        "只有查询读不到它 | only the queries cannot": (
            "queries without previous"
        ),
        "只有值读不到它 | only the values cannot": "values without previous",
        "只有一层 | a single layer": "one, accuracy",
        "只有一层，猜的不在前七个里 | a single layer, not among the last 7": (
            "one, inside"
        ),
        "基线，任取一个不在前七个里的 | baseline, any not among the last 7": (
            "baseline"
        ),
    }
    for title, key in names.items():
        rows[title] = [f"{100 * value:.1f}%" for value in results[key]]
    head = ["", *(f"种子 {seed} | seed {seed}" for seed in SEEDS)]
    head[0] = "模型 | model"
    return {
        "induction": [head, *([title, *row] for title, row in rows.items())]
    }
