"""What two experiments of chapter 26 share: every one-word change of sentences.

Each sentence is changed by one word in every way that the grammar has, and
cross-attention before and after is compared.
"""

import random

import torch

from attention_book.corpus import EOS, detokenize
from attention_book.decoding.alignment import cross_weights
from attention_book.fast_decoding import Translator
from attention_book.robust import TracedGrammar, total_variation


Pair = tuple[str, str]
N_LOOKED_AT = 300  # neighbours of each kind, whose attention is compared


def judge(
    model: Translator, pairs: list[Pair]
) -> tuple[torch.Tensor, torch.Tensor]:
    """How sure the model is of each translation, and whether it is right."""
    found = model.translate_with_confidence([text for text, _ in pairs])
    confidence = torch.tensor([each.confidence for each in found])
    right = [
        each.text == detokenize(chinese)
        for each, (_, chinese) in zip(found, pairs, strict=True)
    ]
    return confidence, torch.tensor(right)


def moved(model: Translator, before: Pair, after: Pair) -> float | None:
    """How far cross-attention moves, if no length changes."""
    sources, targets = zip(
        *(
            (model.source.encode(text), [*model.target.encode(zh), EOS])
            for text, zh in (before, after)
        ),
        strict=True,
    )
    if {len(targets[0]), len(sources[0])} != {
        len(targets[1]),
        len(sources[1]),
    }:
        return None
    p, q = (
        cross_weights(model.model, source, target)
        for source, target in zip(sources, targets, strict=True)
    )
    return total_variation(p, q).mean().item()


def area_under_curve(wrong: list[float], right: list[float]) -> float:
    """How often a wrong one has the larger number; a tie counts half."""
    wins = [(w > r) + 0.5 * (w == r) for w in wrong for r in right]
    return sum(wins) / len(wins)


def search(
    model: Translator, pairs: list[Pair], grammar: TracedGrammar, seed: int
) -> dict[str, float]:
    """Change each sentence by one word in every way."""
    _, right_before = judge(model, pairs)
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
