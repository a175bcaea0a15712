"""Is there an order among the words that hardly matter?

Of the words of a source, one matters most to a token of the translation, and
the others change its log-probability by little. Is what they change mere
noise? Then no method can find their order, and those who hold a low rank
correlation against attention (Jain and Wallace, 2019) ask for what is not
there. If leaving words out finds an order that agrees with that of replacing
them, it is there. The word that matters most is left out of the comparison.
Changes are ordered by their size, up or down, and as falls, where a rise
counts least; a reading without signs can only have the first order.
"""

from collections import defaultdict
from statistics import fmean

import torch
from torch import Tensor

from attention_book import input_x_gradient, occlusion, trace
from attention_book.data.split import make_split
from corpora.biased.replays import ReplayableGrammar
from experiments.interpret_readings import (
    METHODS,
    MOVED,
    SITE,
    kendall,
    replaced,
    teacher_forced,
)
from experiments.record import spread
from experiments.translators import translator, unseen


SEEDS = range(3)
N = 50  # sentences
ORDERS = {"size": "变化的大小 | size of the change", "fall": "下降 | fall"}
COMPARED = ("attention", "gradient", "leave-one-out", "random")


def run(seed: int) -> dict[str, float]:
    torch.manual_seed(seed)
    original = translator(seed)
    grammar = ReplayableGrammar()
    make_split(n_train=1, n_test=1000, grammar=grammar)  # these among them
    found = defaultdict(list)
    for text, _ in unseen(N):
        inputs, score = teacher_forced(original, text)
        others = [phrase.english for phrase in grammar.neighbours(text)]
        falls, there = replaced(original, inputs, score, others)
        call = (original.model, inputs, SITE, score)
        with torch.no_grad():
            weights = trace(
                original.model, inputs, ["*cross_attention.weights"]
            ).activations.values()
        readings: dict[str, Tensor] = {
            "attention": torch.cat([*weights]).mean(dim=(0, 1)),
            "gradient": input_x_gradient(*call).abs(),
            "leave-one-out": occlusion(*call),
            "random": torch.rand(falls.shape),
        }
        for i in (falls.amax(dim=1) > MOVED).nonzero().flatten():
            fell = falls[i, there]
            rest = torch.arange(len(fell)) != fell.argmax()
            if rest.sum() < 2:
                continue
            found["words"].append(rest.sum().item())
            found["small"] += (fell[rest].abs() < 0.01).tolist()
            found["rose"] += (fell[rest] < 0).tolist()
            for name in COMPARED:
                reading = readings[name][i, there][rest]
                found[f"{name}, fall"].append(kendall(reading, fell[rest]))
                size = kendall(reading.abs(), fell[rest].abs())
                found[f"{name}, size"].append(size)
    return {name: fmean(map(float, some)) for name, some in found.items()}


def tables(results: dict[str, list[float]]) -> dict[str, list[list[str]]]:
    rows = [["怎样排 | ordered by", *(METHODS[name] for name in COMPARED)]]
    for order, title in ORDERS.items():
        taus = (spread(results[f"{name}, {order}"], 2) for name in COMPARED)
        rows.append([title, *(tau.replace("-0.00", "0.00") for tau in taus)])
    return {"order": rows}
