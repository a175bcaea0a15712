"""Is attention explanation, in a GRU with attention: "Reading attention".

After Jain and Wallace (2019), the weights of cross-attention are permuted, and
others are sought, as far away as can be, that leave the prediction as it is.
After Wiegreffe and Pinter (2019), models are trained whose weights are uniform
or as far from the original's as can be, and the weights of each guide a model
without context, which predicts each token from the words attended to.
"""

import copy
import random
from collections.abc import Callable, Iterator, Sequence
from statistics import fmean
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from attention_book import encode_pairs, trace
from attention_book.data.batches import pad
from attention_book.data.sources import load_corpus
from attention_book.models.transformer import Transformer
from attention_book.tokenizers.special_tokens import PAD
from experiments.record import percent, spread
from experiments.translators import translator, unseen


SEEDS = range(3)
LAST = ("decoder.layers.1.cross_attention.weights",)
BOTH = ("decoder.layers.0.cross_attention.weights", *LAST)
N_SEARCHED = 30  # sentences
SEARCH_STEPS = 60
TUNING_STEPS = 1500
FOR_GUIDED = 2000  # sentences, for the model without context
SAME = 0.01  # of the predictions' total variation distance, at most
FAR = 0.5  # of the weights' Jensen-Shannon divergence, at least; ln 2 at most

Weights = dict[str, Tensor]


def divergence(p: Tensor, q: Tensor) -> Tensor:
    """The Jensen-Shannon divergence of distributions along the last axis."""
    p, q = p.clamp(min=1e-9), q.clamp(min=1e-9)  # finite gradients at 0
    mean = (p + q) / 2
    return (
        torch.special.entr(mean)
        - (torch.special.entr(p) + torch.special.entr(q)) / 2
    ).sum(dim=-1)


def inputs_of(example: Any) -> tuple[Tensor, Tensor, Tensor]:
    """A batch of one sentence, with the right tokens before each."""
    source, target = example
    return (
        torch.tensor([source]),
        torch.tensor([len(source)]),
        torch.tensor([target[:-1]]),
    )


def search(
    model: Transformer,
    inputs: tuple[Tensor, Tensor, Tensor],
    sites: Sequence[str],
) -> tuple[Tensor, Tensor]:
    """Look for other weights, for each token of the target on its own.

    Row i of a batch has other weights for query i alone. Returns the largest
    divergence found with the same prediction, and for random permutations by
    how much the prediction changes.
    """
    n = inputs[2].shape[1]
    rows = [x.expand(n, *x.shape[1:]) for x in inputs]
    each = torch.arange(n)

    def change(new: Weights) -> Tensor:
        def edit(site: str) -> Callable[[Tensor], Tensor]:
            def put(weights: Tensor) -> Tensor:
                weights = weights.clone()
                weights[each, :, each] = new[site]
                return weights

            return put

        edits = {site: edit(site) for site in sites}
        logits = trace(model, rows, edits=edits).output
        return logits[each, each].softmax(dim=-1)

    with torch.no_grad():
        logits, activations = trace(model, inputs, sites)
        right = logits[0].softmax(dim=-1)
        old = {s: w[0].transpose(0, 1) for s, w in activations.items()}
        order = torch.randperm(inputs[0].shape[1])
        permuted = change({s: w[..., order] for s, w in old.items()})
        moved = (permuted - right).abs().sum(dim=-1) / 2
    z = {s: torch.randn_like(w).requires_grad_() for s, w in old.items()}
    optimizer = torch.optim.Adam(z.values(), lr=0.3)
    best = torch.zeros(n)
    for _ in range(SEARCH_STEPS):
        new = {s: x.softmax(dim=-1) for s, x in z.items()}
        far = torch.stack([divergence(old[s], new[s]) for s in sites])
        far = far.mean(dim=(0, 2))  # of sites and heads
        distance = (change(new) - right).abs().sum(dim=-1) / 2
        fits = (distance <= SAME) & (far > best)
        best = torch.where(fits, far.detach(), best)
        loss = (10 * (distance - SAME).relu() - far).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return best, moved


def batches(
    examples: Sequence[Any], seed: int, size: int = 32
) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
    """Sentences of like length, padded, for ever."""
    rng = random.Random(seed)
    ordered = sorted(examples, key=lambda example: len(example[0]))
    while True:
        start = rng.randrange(len(ordered) - size)
        rows = ordered[start : start + size]
        source, lengths = pad([row[0] for row in rows])
        target, _ = pad([row[1] for row in rows])
        yield source, lengths, target


def uniform(lengths: Tensor, weights: Tensor) -> Tensor:
    """Equal weights for all words of each source."""
    n = weights.shape[-1]
    real = torch.arange(n) < lengths[:, None, None, None]
    return (real / lengths[:, None, None, None]).expand_as(weights)


def tune(
    original: Transformer, examples: Sequence[Any], seed: int, kind: str
) -> Transformer:
    """Train a copy, with uniform weights or with weights far from these."""
    model = copy.deepcopy(original).eval()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
    stream = batches(examples, seed)
    for _ in range(TUNING_STEPS):
        source, lengths, target = next(stream)
        inputs = (source, lengths, target[:, :-1])
        labels = target[:, 1:]
        if kind == "uniform":
            output = with_uniform(model, inputs)
            far = torch.tensor(0.0)
        else:
            output, new = trace(model, inputs, BOTH)
            with torch.no_grad():
                old = trace(original, inputs, BOTH).activations
            each = [divergence(old[s].mean(1), new[s].mean(1)) for s in BOTH]
            far = torch.stack(each)[:, labels != PAD].mean()
        loss = F.cross_entropy(
            output.flatten(0, 1), labels.flatten(), ignore_index=PAD
        )
        optimizer.zero_grad()
        (loss - far).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    return model


def with_uniform(model: Transformer, inputs: tuple[Tensor, ...]) -> Tensor:
    """The logits with uniform cross-attention."""

    def edit(weights: Tensor) -> Tensor:
        return uniform(inputs[1], weights)

    output: Tensor = trace(
        model, inputs, edits=dict.fromkeys(BOTH, edit)
    ).output
    return output


@torch.no_grad()
def predicted(
    model: Transformer, examples: Sequence[Any], *, is_uniform: bool = False
) -> float:
    """The share of sentences of which each next token is predicted."""
    right = []
    for example in examples:
        inputs = inputs_of(example)
        logits = with_uniform(model, inputs) if is_uniform else model(*inputs)
        right.append(logits[0].argmax(-1).tolist() == example[1][1:])
    return fmean(right)


@torch.no_grad()
def alignments(model: Transformer, examples: Sequence[Any]) -> list[Tensor]:
    """Mean cross-attention of all layers and heads, for each sentence."""
    found = []
    for example in examples:
        weights = trace(model, inputs_of(example), BOTH).activations.values()
        found.append(torch.cat(list(weights)).mean(dim=(0, 1)))
    return found


class Guided(nn.Module):
    """Predicts a token from the mean of the words, weighted from outside."""

    def __init__(self, source_vocab_size: int, target_vocab_size: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(source_vocab_size, 64)
        self.head = nn.Linear(64, target_vocab_size)

    def forward(self, source: Tensor, weights: Tensor) -> Tensor:
        return self.head(weights @ self.embedding(source))


def guide(
    guides: tuple[list[Tensor], list[Tensor]],
    train: Sequence[Any],
    test: Sequence[Any],
    sizes: tuple[int, int],
    seed: int,
) -> float:
    """The share of tokens that a model predicts without context."""
    torch.manual_seed(seed)
    model = Guided(*sizes)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    order = list(range(len(train)))
    rng = random.Random(seed)
    for _ in range(4):
        rng.shuffle(order)
        for start in range(0, len(order), 20):
            loss = torch.tensor(0.0)
            for i in order[start : start + 20]:
                source, target = train[i]
                logits = model(torch.tensor(source), guides[0][i])
                loss = loss + F.cross_entropy(logits, torch.tensor(target[1:]))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    right = []
    with torch.no_grad():
        for (source, target), weights in zip(test, guides[1], strict=True):
            found = model(torch.tensor(source), weights).argmax(-1).tolist()
            right += [a == b for a, b in zip(found, target[1:], strict=True)]
    return fmean(right)


def run(seed: int) -> dict[str, float]:
    torch.manual_seed(seed)
    original = translator(seed)
    model = original.model
    other = translator((seed + 1) % len(SEEDS)).model
    found: dict[str, float] = {}
    tokenizers = (original.source, original.target)
    corpus = load_corpus("grammar")
    examples = encode_pairs(corpus.train[:20_000], *tokenizers)
    test = encode_pairs(unseen(), *tokenizers)
    for name, sites in ("last", LAST), ("both", BOTH):
        results = [
            search(model, inputs_of(example), sites)
            for example in test[:N_SEARCHED]
        ]
        far, moved = (torch.cat(list(x)) for x in zip(*results, strict=True))
        found[f"{name}, other weights"] = (far >= FAR).float().mean().item()
        found[f"{name}, divergence"] = far.mean().item()
        found[f"{name}, permuted"] = moved.mean().item()
    adversary = tune(model, examples, seed, "adversary")
    flat = tune(model, examples, seed, "uniform")
    found["original, right"] = predicted(model, test)
    found["seed, right"] = predicted(other, test)
    found["adversary, right"] = predicted(adversary, test)
    found["untuned uniform, right"] = predicted(model, test, is_uniform=True)
    found["uniform, right"] = predicted(flat, test, is_uniform=True)
    few = examples[:FOR_GUIDED]
    guides = {
        "original": (alignments(model, few), alignments(model, test)),
        "seed": (alignments(other, few), alignments(other, test)),
        "adversary": (alignments(adversary, few), alignments(adversary, test)),
    }
    old = guides["original"]
    guides["uniform"] = tuple(
        [torch.full_like(w, 1 / w.shape[1]) for w in part] for part in old
    )
    sizes = (len(original.source), len(original.target))
    for name, guided in guides.items():
        far = [
            divergence(a, b).mean().item()
            for a, b in zip(old[1], guided[1], strict=True)
        ]
        found[f"{name}, divergence"] = fmean(far)
        found[f"{name}, guided"] = guide(guided, few, test, sizes, seed)
    return found


def tables(results: dict[str, list[float]]) -> dict[str, list[list[str]]]:
    def row(title: str, *cells: str) -> list[str]:
        return [title, *cells]

    both = ("last", "both")
    weights = [
        row(
            "交叉注意力 | cross-attention", "第 2 层 | layer 2", "两层 | both"
        ),
        row(
            "打乱权重，答案移动 | permuted, the answer moves by",
            *(spread(results[f"{name}, permuted"], 2) for name in both),
        ),
        row(
            "能换成很不同的权重，答案不变 | other weights, same answer",
            *(percent(results[f"{name}, other weights"], 0) for name in both),
        ),
    ]
    nothing = "0"
    models = [
        row(
            "模型 | model",
            "全对 | exact",
            "离原来的图 | from the original map",
            "没有上下文的模型 | model without context",
        )
    ]
    for title, right, guide in (
        ("原来的 | the original", "original", "original"),
        ("另一个种子 | another seed", "seed", "seed"),
        ("均匀的权重 | uniform weights", "untuned uniform", "uniform"),
        ("均匀，再训练 | uniform, trained on", "uniform", "uniform"),
        ("对手 | the adversary", "adversary", "adversary"),
    ):
        far = results[f"{guide}, divergence"]
        models.append(
            row(
                title,
                percent(results[f"{right}, right"], 0),
                spread(far, 2) if any(far) else nothing,
                percent(results[f"{guide}, guided"], 0),
            )
        )
    return {"weights": weights, "models": models}
