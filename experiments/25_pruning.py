"""Heads of the translators, taken out in several orders: chapter 25.

The orders are those of the gradient, of gates learnt with an L0 penalty, of
leaving out one head after another, and random ones. Most of it changes nothing
else in the model; the last table trains it for a while without the heads.
"""

import random
from collections.abc import Iterable, Iterator
from functools import cache

import torch
from torch import Tensor, nn

from attention_book.adaptive import (
    GatedAttention,
    attention_layers,
    expected_heads,
    head_importance,
    prune_heads,
    replace_attention,
    silence_heads,
)
from attention_book.cli.corpora import Corpus, load_corpus
from attention_book.fast_decoding import Translator
from attention_book.losses import chunked_translation_loss
from attention_book.training import (
    BatchLoader,
    Trainer,
    TrainingConfig,
    encode_pairs,
)
from attention_book.training.loading import Example, make_batch
from attention_book.transformer import Transformer
from experiments.record import percent
from experiments.translators import translator


SEEDS = range(3)
REMOVED = (4, 8, 12, 16)
RETRAINED = (16, 20)
N_RANDOM = 3
N_TEST = 200  # unseen sentences
N_JUDGED = 100  # training sentences that heads are judged by
GATE_STEPS = 200
GATE_RATE = 0.1
GATE_PENALTY = 0.01
MORE_STEPS = 100
ORDERS = {
    "gradient": "梯度 | gradient",
    "gradient by layer": "梯度，逐层归一 | gradient, by layer",
    "gates": "门 | gates",
    "leave-one-out": "逐个试 | leave-one-out",
    "random": "随机 | random",
    "book": "随书的模型，梯度 | the book's model, gradient",
}
Head = tuple[str, int]  # the name of its layer, its number


@cache
def corpus() -> Corpus:
    return load_corpus("grammar")


def all_heads(model: nn.Module) -> list[Head]:
    return [
        (name, h)
        for name, layer in attention_layers(model).items()
        for h in range(layer.n_heads)
    ]


def grouped(heads: Iterable[Head]) -> dict[str, list[int]]:
    """The heads of each layer."""
    found: dict[str, list[int]] = {}
    for name, h in heads:
        found.setdefault(name, []).append(h)
    return found


def exact(
    owner: Translator, model: Transformer, pairs: list[tuple[str, str]]
) -> float:
    """The fraction of translations that are right to the character."""
    texts, wanted = zip(*pairs, strict=True)
    found = Translator(model, owner.source, owner.target).translate(texts)
    right = [
        a.replace(" ", "") == b.replace(" ", "")
        for a, b in zip(found, wanted, strict=True)
    ]
    return sum(right) / len(right)


def by_gradient(
    owner: Translator, examples: list[Example]
) -> dict[str, list[Head]]:
    """Heads from the least to the most important, Michel et al. (2019)."""

    def losses(model: nn.Module) -> Iterator[Tensor]:
        for example in examples:
            batch = make_batch([example], torch.device("cpu"))
            yield chunked_translation_loss(model, batch)

    scores = head_importance(owner.model, losses)
    by_layer = {name: x / x.norm() for name, x in scores.items()}
    return {
        key: sorted(
            all_heads(owner.model), key=lambda head: of[head[0]][head[1]]
        )
        for key, of in (("gradient", scores), ("gradient by layer", by_layer))
    }


def opened(model: Transformer, is_open: bool = True) -> Transformer:
    """The model with a gate for each head, all of them open."""
    gated = replace_attention(model, GatedAttention)
    for layer in gates_of(gated).values():
        with torch.no_grad():
            layer.gate_logits.fill_(9.0 if is_open else 2.0)
    return gated


def gates_of(model: nn.Module) -> dict[str, GatedAttention]:
    layers = attention_layers(model).items()
    return {k: v for k, v in layers if isinstance(v, GatedAttention)}


def by_gates(
    owner: Translator, examples: list[Example], seed: int
) -> list[Head]:
    """Heads in the order of their gates, Voita et al. (2019).

    All else is frozen: other orders do not change the model either.
    """
    model = opened(owner.model, is_open=False).train()
    layers = gates_of(model)
    logits = [layer.gate_logits for layer in layers.values()]
    model.requires_grad_(False)
    for each in logits:
        each.requires_grad_()
    optimizer = torch.optim.Adam(logits, lr=GATE_RATE)
    torch.manual_seed(seed)
    batches = BatchLoader(examples, TrainingConfig(seed=seed))
    for i in range(GATE_STEPS):
        loss = chunked_translation_loss(model, batches[i])
        loss = loss + GATE_PENALTY * expected_heads(model)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return sorted(
        all_heads(owner.model),
        key=lambda head: layers[head[0]].gate_logits[head[1]].item(),
    )


@torch.no_grad()
def by_leaving_out(
    owner: Translator, examples: list[Example], n: int
) -> list[Head]:
    """Take out the head whose loss rises least, n times; no other heads."""
    model = opened(owner.model).eval()
    layers = gates_of(model)
    batch = make_batch(examples, torch.device("cpu"))
    left, gone = all_heads(owner.model), []
    for _ in range(n):
        losses = {}
        for name, h in left:
            layers[name].gate_logits[h] = -9.0
            losses[name, h] = chunked_translation_loss(model, batch).item()
            layers[name].gate_logits[h] = 9.0
        least = min(losses, key=losses.__getitem__)
        layers[least[0]].gate_logits[least[1]] = -9.0
        left.remove(least)
        gone.append(least)
    return gone


def at_random(model: nn.Module, seed: int) -> list[Head]:
    heads = all_heads(model)
    random.Random(seed).shuffle(heads)
    return heads


def retrained(
    owner: Translator, heads: list[Head], examples: list[Example], seed: int
) -> Transformer:
    """The model without these heads, trained for a while longer."""
    model = prune_heads(owner.model, grouped(heads)).train()
    config = TrainingConfig(
        max_steps=MORE_STEPS, learning_rate=5e-4, warmup_steps=10, seed=seed
    )
    torch.manual_seed(seed)
    batches = BatchLoader(examples, config)
    trainer = Trainer(model, batches, config, chunked_translation_loss)
    for _ in range(MORE_STEPS):
        trainer.step()
    return model.eval()


def run(seed: int) -> dict[str, float]:
    owner = translator(seed)  # which sets the number of threads
    test = corpus().tests["unseen sentences"][:N_TEST]
    examples = encode_pairs(corpus().train, owner.source, owner.target)
    judged = examples[:N_JUDGED]
    orders = by_gradient(owner, judged)
    orders["gates"] = by_gates(owner, examples, seed)
    orders["leave-one-out"] = by_leaving_out(owner, judged, max(REMOVED))
    for i in range(N_RANDOM):
        order = at_random(owner.model, N_RANDOM * seed + i)
        orders[f"random {i}"] = order
    found = {"none out": exact(owner, owner.model, test)}
    for name, order in orders.items():
        for n in REMOVED:
            silent = silence_heads(owner.model, grouped(order[:n]))
            found[f"{name}, {n} out"] = exact(owner, silent, test)
    book = Translator.load()
    pairs = corpus().train[N_JUDGED * seed : N_JUDGED * (seed + 1)]
    order = by_gradient(book, encode_pairs(pairs, book.source, book.target))[
        "gradient"
    ]
    for n in REMOVED:
        silent = silence_heads(book.model, grouped(order[:n]))
        found[f"book, {n} out"] = exact(book, silent, test)
    for n in RETRAINED:
        for name in ("gradient", "random 0"):
            model = retrained(owner, orders[name][:n], examples, seed)
            found[f"{name}, {n} out, retrained"] = exact(owner, model, test)
    return found


def tables(results: dict[str, list[float]]) -> dict[str, list[list[str]]]:
    heads = [["次序 | order"]]
    heads[0] += [f"去掉 {n} 个 | {n} out" for n in REMOVED]
    for name, title in ORDERS.items():
        row = [title]
        for n in REMOVED:
            keys = [f"{name}, {n} out"]
            if name == "random":
                keys = [f"random {i}, {n} out" for i in range(N_RANDOM)]
            row.append(percent([x for key in keys for x in results[key]]))
        heads.append(row)
    more = [["次序 | order"]]
    more[0] += [f"去掉 {n} 个 | {n} out" for n in RETRAINED]
    for name, title in (("gradient", "gradient"), ("random 0", "random")):
        keys = [f"{name}, {n} out, retrained" for n in RETRAINED]
        more.append([ORDERS[title], *(percent(results[key]) for key in keys)])
    return {"heads": heads, "retrained": more}
