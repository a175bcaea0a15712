"""Maps of attention against what a change does: "Reading attention".

For each token of a translation each method gives a number to every word of
the source. Two methods are compared token by token, by Kendall's rank
correlation of these numbers, and by whether the largest is the same. Methods
are also compared with what happens when other words stand in a word's place.
"""

from collections import defaultdict
from collections.abc import Callable
from itertools import combinations
from statistics import fmean
from typing import Any

import networkx as nx  # type: ignore[import-untyped]
import torch
from torch import Tensor, nn

from attention_book import (
    Translator,
    input_x_gradient,
    integrated_gradients,
    occlusion,
    trace,
)
from attention_book.attention.multi_head import MultiHeadAttention
from attention_book.data.split import make_split
from attention_book.interpret.mixing import attention_rollout, mixing_matrices
from attention_book.tokenizers.special_tokens import BOS
from corpora.biased.replays import ReplayableGrammar
from experiments.record import percent
from experiments.translators import translator, unseen


SEEDS = range(3)
N = 50  # sentences
SITE = "source_embedding.tokens"
MOVED = 1  # by how much some word must lower a log-probability
METHODS = {
    "attention": "注意力 | attention",
    "norms": "范数 | norms",
    "rollout": "展开 | rollout",
    "flow": "流 | flow",
    "gradient": "梯度 | gradient",
    "integrated": "积分 | integrated",
    "leave-one-out": "去词 | left out",
    "random": "随机 | random",
}


def attention_flow(mixing: Tensor, source_length: int) -> Tensor:
    """The maximum flow from each token of the target to each of the source.

    The capacities are mixing_matrices of one sentence (attentions, tokens,
    tokens), whose first tokens are those of the source.

    Source: Abnar and Zuidema (2020), §3.
    """
    n = mixing.shape[-1]
    graph = nx.DiGraph()
    for depth, mix in enumerate(mixing):
        for i, j in mix.nonzero().tolist():
            capacity = mix[i, j].item()
            graph.add_edge((depth + 1, i), (depth, j), capacity=capacity)
    outputs = range(source_length, n)
    flows = [
        nx.maximum_flow_value(graph, (len(mixing), i), (0, j))
        for i in outputs
        for j in range(source_length)
    ]
    return torch.tensor(flows).view(len(outputs), source_length)


@torch.no_grad()
def contribution_norms(
    attention: MultiHeadAttention, weights: Tensor, memory: Tensor
) -> Tensor:
    """The norm of what each key adds to the output of each query.

    Args:
        attention: The layer.
        weights: Its attention weights.
        memory: What its keys and values are made of.

    Source: Kobayashi et al. (2020), eq. 3 and 4; the heads are added up.
    """
    n_heads, d_model = attention.n_heads, attention.d_model
    _, value = attention.keys_and_values(memory)
    value = value.repeat_interleave(n_heads // attention.n_kv_heads, dim=-3)
    out = attention.out_proj.weight.view(d_model, n_heads, -1)
    added = torch.einsum("...hqk,...hkd,mhd->...qkm", weights, value, out)
    return added.norm(dim=-1)


def maps(
    model: nn.Module, inputs: tuple[Any, ...], score: Callable[[Any], Tensor]
) -> dict[str, Tensor]:
    """What each method says: (tokens of the target, words of the source)."""
    sites = ["*cross_attention.weights", "encoder.norm"]
    with torch.no_grad():
        activations = trace(model, inputs, sites).activations
    memory = activations.pop("encoder.norm")
    weights = torch.stack(list(activations.values()))[:, 0]
    norms = [
        contribution_norms(model.get_submodule(name[:-8]), w, memory)[0]
        for name, w in activations.items()
    ]
    mixing = mixing_matrices(model, inputs)
    source = inputs[0].shape[1]
    part = (slice(source, None), slice(None, source))
    call = (model, inputs, SITE, score)
    return {
        "attention": weights.mean(dim=(0, 1)),
        "norms": torch.stack(norms).detach().mean(dim=0),
        "rollout": attention_rollout(mixing)[0][part],
        "flow": attention_flow(mixing[:, 0], source),
        "gradient": input_x_gradient(*call).abs(),
        "integrated": integrated_gradients(*call).abs(),
        "leave-one-out": occlusion(*call),
        "random": torch.rand(weights.shape[-2:]),
    }


def teacher_forced(
    original: Translator, text: str
) -> tuple[tuple[Tensor, Tensor, Tensor], Callable[[Tensor], Tensor]]:
    """A model's inputs for its own translation, and the score of each token.

    The score of a token is its log-probability after the tokens before it.
    """
    source = original.encode(text)
    (target,) = original.generate([source])
    inputs = (
        torch.tensor([source]),
        torch.tensor([len(source)]),
        torch.tensor([[BOS, *target]])[:, : len(target)],
    )

    def score(logits: Tensor) -> Tensor:
        return logits[0].log_softmax(dim=-1)[range(len(target)), target]

    return inputs, score


@torch.no_grad()
def replaced(
    original: Translator,
    inputs: tuple[Tensor, Tensor, Tensor],
    score: Callable[[Tensor], Tensor],
    others: list[str],
) -> tuple[Tensor, Tensor]:
    """By how much scores fall when words are replaced, and which words were.

    The others are sentences that differ in one word. The falls for a word
    are averaged over all that stand in its place.
    """
    source, lengths, target = inputs
    right = score(original.model(*inputs))
    falls = torch.zeros(len(right), source.shape[1])
    counts = torch.zeros(source.shape[1])
    for text in others:
        changed = torch.tensor([original.encode(text)])
        (differs,) = (changed != source).nonzero()
        logits = original.model(changed, lengths, target)
        falls[:, differs[1]] += right - score(logits)
        counts[differs[1]] += 1
    return falls / counts.clamp(min=1), counts > 0


def kendall(a: Tensor, b: Tensor) -> float:
    """Kendall's tau of two lists of numbers."""
    i, j = torch.triu_indices(len(a), len(a), 1)
    signs = torch.sign(a[i] - a[j]) * torch.sign(b[i] - b[j])
    return signs.mean().item()


def compare(original: Translator, sentences: list[str]) -> dict[str, float]:
    """The mean agreement of each two methods over all tokens."""
    grammar = ReplayableGrammar()
    make_split(n_train=1, n_test=1000, grammar=grammar)  # these among them
    found = defaultdict(list)

    def record(key: str, one: Tensor, other: Tensor) -> None:
        found[key].append(kendall(one, other))
        same = one.argmax() == other.argmax()
        found[f"{key}, first"].append(float(same))

    for sentence in sentences:
        inputs, score = teacher_forced(original, sentence)
        readings = maps(original.model, inputs, score)
        for a, b in combinations(METHODS, 2):
            for one, other in zip(readings[a], readings[b], strict=True):
                record(f"{a}, {b}", one, other)
        others = [phrase.english for phrase in grammar.neighbours(sentence)]
        falls, there = replaced(original, inputs, score, others)
        for i in (falls.amax(dim=1) > MOVED).nonzero().flatten():
            for name, reading in readings.items():
                reading = reading[i, there]
                left_out = readings["leave-one-out"][i, there]
                record(f"{name}, replaced", reading, falls[i, there])
                record(f"{name}, there, leave-one-out", reading, left_out)
            found["depends"].append(1)
        found["outputs"].append(len(falls))
    share = len(found.pop("depends")) / sum(found.pop("outputs"))
    means = {name: fmean(values) for name, values in found.items()}
    return {"depend on a word": share, **means}


def run(seed: int) -> dict[str, float]:
    torch.manual_seed(seed)
    return compare(translator(seed), [text for text, _ in unseen(N)])


def tables(results: dict[str, list[float]]) -> dict[str, list[list[str]]]:
    names = list(METHODS)
    pairs = [["", *(METHODS[name] for name in names[:-1])]]
    for a in names[:-1]:
        row = [METHODS[a]]
        for b in names[:-1]:
            key = f"{a}, {b}" if f"{a}, {b}" in results else f"{b}, {a}"
            row.append("1" if a == b else f"{fmean(results[key]):.2f}")
        pairs.append(row)
    pairs[0][0] = "肯德尔 τ | Kendall's τ"
    effect = [
        [
            "归因方法 | method",
            "换词，最大的词 | replaced, largest",
            "去词，最大的词 | left out, largest",
        ]
    ]
    for name in names:
        taken = f"{name}, there, leave-one-out, first"
        row = [
            METHODS[name],
            percent(results[f"{name}, replaced, first"], 0),
            "100%" if name == "leave-one-out" else percent(results[taken], 0),
        ]
        effect.append(row)
    return {"pairs": pairs, "effect": effect}
