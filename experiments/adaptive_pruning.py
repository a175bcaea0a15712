"""Heads of the translators, taken out in many orders: "Adaptive attention".

The orders are those of the gradient, of gates learnt with an L0 penalty, of
the loss without each head, and random ones. Gradient and loss judge all heads
once, or those that are left again after each removal. Most of it changes
nothing else in the model; the last table trains it on without the heads.
"""

import random
from collections.abc import Callable, Iterable, Iterator
from functools import cache

import torch
from torch import Tensor, nn

from attention_book import (
    Trainer,
    TrainingConfig,
    TranslationBatches,
    Translator,
    encode_pairs,
    list_heads,
    prune_heads,
    replace_attention,
    without_heads,
)
from attention_book.attention.gates import GatedAttention, expected_heads
from attention_book.data.sources import Corpus, load_corpus
from attention_book.interpret.heads import head_importance
from attention_book.models.transformer import Transformer
from attention_book.training.chunked_loss import chunked_translation_loss
from attention_book.training.loading import Example, make_batch
from experiments.record import percent, spread
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
    "random": "随机 | random",
    "gradient": "梯度 | gradient",
    "gradient by layer": "梯度，逐层归一 | gradient, by layer",
    "loss": "留一法 | leave-one-out",
    "gates": "门 | gates",
    "gradient again": "逐步剔除，梯度 | backward, gradient",
    "loss again": "逐步剔除，损失 | backward, loss",
}
PLACES = {
    "encoder": "编码器 | encoder",
    "decoder": "解码器 | decoder",
    "cross": "交叉注意力 | cross-attention",
}
LEFT = 12  # heads, when it is counted where they are
Head = tuple[str, int]  # the name of its layer, its number
Scores = dict[Head, float]  # the more a head matters, the higher


@cache
def corpus() -> Corpus:
    return load_corpus("grammar")


def all_heads(model: nn.Module) -> list[Head]:
    heads = list_heads(model).items()
    return [(name, h) for name, numbers in heads for h in numbers]


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


def gradients(
    model: Transformer, gone: list[Head], examples: list[Example]
) -> Scores:
    """What Michel et al. (2019) score heads by, of those that are left."""

    def losses(model: nn.Module) -> Iterator[Tensor]:
        for example in examples:
            batch = make_batch([example], torch.device("cpu"))
            yield chunked_translation_loss(model, batch)

    found = head_importance(without_heads(model, grouped(gone)), losses)
    left = [head for head in all_heads(model) if head not in gone]
    return {(name, h): found[name][h].item() for name, h in left}


def by_layer(scores: Scores) -> Scores:
    """Each divided by the norm of its layer's."""
    squares: dict[str, float] = {}
    for (name, _), score in scores.items():
        squares[name] = squares.get(name, 0.0) + score**2
    return {(k, h): x / squares[k] ** 0.5 for (k, h), x in scores.items()}


@torch.no_grad()
def losses_without(
    model: Transformer, gone: list[Head], examples: list[Example]
) -> Scores:
    """The loss without each of the heads that are left."""
    batch = make_batch(examples, torch.device("cpu"))
    found = {}
    for head in all_heads(model):
        if head not in gone:
            silent = without_heads(model, grouped([*gone, head]))
            found[head] = chunked_translation_loss(silent, batch).item()
    return found


def ordered(scores: Scores) -> list[Head]:
    return sorted(scores, key=scores.__getitem__)


def one_by_one(
    model: Transformer,
    examples: list[Example],
    score: Callable[[Transformer, list[Head], list[Example]], Scores],
    n: int,
) -> list[Head]:
    """Take out the least head and judge those that are left anew, n times."""
    gone: list[Head] = []
    for _ in range(n):
        gone.append(ordered(score(model, gone, examples))[0])
    return gone


def gates_of(model: nn.Module) -> dict[str, GatedAttention]:
    layers = model.named_modules()
    return {k: v for k, v in layers if isinstance(v, GatedAttention)}


def by_gates(
    owner: Translator, examples: list[Example], seed: int
) -> list[Head]:
    """Heads in the order of their gates, Voita et al. (2019).

    All else is frozen: other orders do not change the model either.
    """
    model = replace_attention(owner.model, GatedAttention).train()
    layers = gates_of(model)
    logits = [layer.gate_logits for layer in layers.values()]
    model.requires_grad_(False)
    for each in logits:
        each.requires_grad_()
    optimizer = torch.optim.Adam(logits, lr=GATE_RATE)
    torch.manual_seed(seed)
    batches = TranslationBatches(examples, TrainingConfig(seed=seed))
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


def at_random(model: nn.Module, seed: int) -> list[Head]:
    heads = all_heads(model)
    random.Random(seed).shuffle(heads)
    return heads


def retrained(
    owner: Translator, heads: list[Head], examples: list[Example], seed: int
) -> Transformer:
    """The model without these heads, trained for a while longer."""
    model = prune_heads(owner.model, grouped(heads)).train().requires_grad_()
    config = TrainingConfig(
        max_steps=MORE_STEPS, learning_rate=5e-4, warmup_steps=10, seed=seed
    )
    torch.manual_seed(seed)
    batches = TranslationBatches(examples, config)
    trainer = Trainer(model, batches, config, chunked_translation_loss)
    for _ in range(MORE_STEPS):
        trainer.step()
    return model.eval()


def places(model: Transformer, gone: list[Head]) -> dict[str, int]:
    """How many heads are left, by what they attend to."""
    left = [name for name, h in all_heads(model) if (name, h) not in gone]
    found = dict.fromkeys(PLACES, 0)
    for name in left:
        is_cross = name.endswith("cross_attention")
        found["cross" if is_cross else name.partition(".")[0]] += 1
    return found


def run(seed: int) -> dict[str, float]:
    owner = translator(seed)  # which sets the number of threads
    model = owner.model
    test = corpus().tests["unseen sentences"][:N_TEST]
    examples = encode_pairs(corpus().train, owner.source, owner.target)
    judged = examples[:N_JUDGED]
    n = max(REMOVED)
    scores = gradients(model, [], judged)
    orders = {
        "gradient": ordered(scores),
        "gradient by layer": ordered(by_layer(scores)),
        "loss": ordered(losses_without(model, [], judged)),
        "gates": by_gates(owner, examples, seed),
        "gradient again": one_by_one(model, judged, gradients, n),
        "loss again": one_by_one(model, judged, losses_without, n),
    }
    for i in range(N_RANDOM):
        orders[f"random {i}"] = at_random(model, N_RANDOM * seed + i)
    found = {"none out": exact(owner, model, test)}
    for name, order in orders.items():
        for n in REMOVED:
            silent = without_heads(model, grouped(order[:n]))
            found[f"{name}, {n} out"] = exact(owner, silent, test)
        gone = order[: len(all_heads(model)) - LEFT]
        for place, count in places(model, gone).items():
            found[f"{name}, {LEFT} left, {place}"] = count
    for n in RETRAINED:
        for name in ("gradient", "random 0"):
            if n not in REMOVED:
                silent = without_heads(model, grouped(orders[name][:n]))
                found[f"{name}, {n} out"] = exact(owner, silent, test)
            trained = retrained(owner, orders[name][:n], examples, seed)
            key = f"{name}, {n} out, retrained"
            found[key] = exact(owner, trained, test)
    return found


def tables(results: dict[str, list[float]]) -> dict[str, list[list[str]]]:
    first = ("random", "gradient", "loss", "gradient again", "loss again")
    others = ("gates", "gradient by layer")
    head = ["次序 | order", *(f"去掉 {n} 个 | {n} out" for n in REMOVED)]
    rows: dict[str, list[str]] = {}
    for name, title in ORDERS.items():
        rows[name] = [title]
        for n in REMOVED:
            keys = [f"{name}, {n} out"]
            if name == "random":
                keys = [f"random {i}, {n} out" for i in range(N_RANDOM)]
            values = [x for key in keys for x in results[key]]
            rows[name].append(percent(values))
    heads = [head, *(rows[name] for name in first)]
    orders = [head, *(rows[name] for name in others)]
    left = [["次序 | order", *PLACES.values()]]
    for name in ORDERS:
        if name == "random":
            continue
        keys = [f"{name}, {LEFT} left, {place}" for place in PLACES]
        left.append(
            [ORDERS[name], *(spread(results[k], 1).split()[0] for k in keys)]
        )
    more = [["次序 | order"]]
    for n in RETRAINED:
        more[0] += [
            f"去掉 {n} 个 | {n} out",
            "再训练 | trained on",
        ]
    for name, title in (("gradient", "gradient"), ("random 0", "random")):
        row = [ORDERS[title]]
        for n in RETRAINED:
            key = f"{name}, {n} out"
            row += [
                percent(results[key]),
                percent(results[f"{key}, retrained"]),
            ]
        more.append(row)
    return {"heads": heads, "orders": orders, "left": left, "retrained": more}
