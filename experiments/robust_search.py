"""One-word changes of 300 sentences, early in training.

The translators of the grammar after 400 of their 2,200 steps, and at the end.
Which sentences that were right are wrong after a change, and has
cross-attention moved further where they are?
"""

import random

import torch

from attention_book import TrainingConfig, Translator
from attention_book.data.sources import load_corpus, train_tokenizers
from attention_book.data.split import make_split
from attention_book.generation.alignment import cross_weights
from attention_book.models.config import PRESETS
from attention_book.tokenizers.special_tokens import EOS
from corpora.biased.replays import ReplayableGrammar
from experiments.fitting import Pair, fit, judge
from experiments.record import percent, spread
from experiments.translators import translator


SEEDS = range(3)
STEPS = 400
N_SEARCHED = 300
N_LOOKED_AT = 300  # neighbours of each kind, whose attention is compared


def early(seed: int) -> Translator:
    """The translator of a seed as it is after the first steps."""
    torch.set_num_threads(1)
    corpus = load_corpus("grammar")
    tokenizers = train_tokenizers(corpus.train, "grammar", 0)
    config = TrainingConfig(seed=seed)
    return fit(corpus.train, tokenizers, PRESETS["small"], config, STEPS)


def moved(model: Translator, before: Pair, after: Pair) -> float | None:
    """How far cross-attention moves, if no length changes."""
    sources, targets = zip(
        *(
            (model.source.encode(text), [*model.target.encode(zh), EOS])
            for text, zh in (before, after)
        ),
        strict=True,
    )
    if [*map(len, sources)] != [len(sources[0])] * 2:
        return None
    if [*map(len, targets)] != [len(targets[0])] * 2:
        return None
    p, q = (
        cross_weights(model.model, source, target)
        for source, target in zip(sources, targets, strict=True)
    )
    return 0.5 * (p - q).abs().sum(dim=-1).mean().item()


def area_under_curve(wrong: list[float], right: list[float]) -> float:
    """How often a wrong one has the larger number; a tie counts half."""
    wins = [(w > r) + 0.5 * (w == r) for w in wrong for r in right]
    return sum(wins) / len(wins)


def search(
    model: Translator, pairs: list[Pair], grammar: ReplayableGrammar, seed: int
) -> dict[str, float]:
    """Change one word of each sentence that is right, in every way."""
    _, right_before = judge(model, pairs)
    pairs = [
        pair
        for pair, is_right in zip(pairs, right_before, strict=True)
        if is_right
    ]
    around = [grammar.neighbours(english) for english, _ in pairs]
    changed = [(p.english, p.chinese) for each in around for p in each]
    confidence, right = judge(model, changed)
    owner = [i for i, each in enumerate(around) for _ in each]
    failing = (~right).nonzero().flatten().tolist()
    attacked = {owner[i] for i in failing}
    shares = [0.0] * len(pairs)
    for i in failing:
        shares[owner[i]] += 1 / len(around[owner[i]])
    rng = random.Random(seed)
    some = [
        rng.sample(rows, min(len(rows), N_LOOKED_AT))
        for rows in (failing, right.nonzero().flatten().tolist())
    ]
    moves: dict[bool, list[float]] = {True: [], False: []}
    doubts: dict[bool, list[float]] = {True: [], False: []}
    for i in [*some[0], *some[1]]:
        far = moved(model, pairs[owner[i]], changed[i])
        if far is not None:
            is_right = bool(right[i])
            moves[is_right].append(far)
            doubts[is_right].append(-confidence[i].item())
    n_wrong = len(moves[False])
    return {
        "search: right": right_before.double().mean().item(),
        "search: neighbours": len(changed),
        "search: random": sum(shares) / len(shares),
        "search: attacked": len(attacked) / len(pairs),
        "search: failing": len(failing),
        "attention: wrong ones": n_wrong,
        "attention: right ones": len(moves[True]),
        "attention: wrong": sum(moves[False]) / max(1, n_wrong),
        "attention: right": sum(moves[True]) / len(moves[True]),
        "attention: area": area_under_curve(moves[False], moves[True])
        if n_wrong
        else 0.5,
        "attention: area of doubt": area_under_curve(
            doubts[False], doubts[True]
        )
        if n_wrong
        else 0.5,
    }


def run(seed: int) -> dict[str, float]:
    grammar = ReplayableGrammar()
    pairs = make_split(n_train=1, n_test=1000, grammar=grammar).sentences
    results: dict[str, float] = {}
    for name, model in {
        "early": early(seed),
        "whole": translator(seed),
    }.items():
        found = search(model, pairs[:N_SEARCHED], grammar, seed)
        results |= {f"{name}, {key}": value for key, value in found.items()}
    return results


def tables(results: dict[str, list[float]]) -> dict[str, list[list[str]]]:
    models = {"early": f"{STEPS} 步 | {STEPS} steps"}
    models["whole"] = "2,200 步 | 2,200 steps"
    names = {
        "right": "改之前译对 | right before",
        "random": "其中随机换一个词，译错 | of these, wrong after a random change",
        "attacked": "其中有一种换法译错 | of these, wrong after some change",
    }
    found = [[f"{N_SEARCHED} 句 | {N_SEARCHED} sentences", *models.values()]]
    found += [
        [title, *(percent(results[f"{m}, search: {name}"]) for m in models)]
        for name, title in names.items()
    ]
    wrong = results["early, attention: wrong ones"]
    attention = [
        ["换词以后 | after the change", models["early"]],
        ["译错的个数 | number of wrong ones", spread(wrong, 0)],
    ]
    rows = {
        "right": "移动，译对 | movement, right",
        "wrong": "移动，译错 | movement, wrong",
        "area": "AUC，移动 | AUC, movement",
        "area of doubt": "AUC，置信度 | AUC, confidence",
    }
    attention += [
        [title, spread(results[f"early, attention: {name}"])]
        for name, title in rows.items()
    ]
    return {"search": found, "attention": attention}
