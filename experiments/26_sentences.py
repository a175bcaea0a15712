"""The grammar's translators, one step aside: chapter 26.

Sentences are changed so that the right translation is known. Then each of a
hundred sentences is changed by one word in every way that the grammar has,
and cross-attention before and after is compared.
"""

import random

import torch

from attention_book.corpus import EOS, detokenize, is_held_out, make_split
from attention_book.decoding.alignment import cross_weights
from attention_book.fast_decoding import Translator
from attention_book.robust import (
    TracedGrammar,
    expected_calibration_error,
    negate,
    swap_names,
    swap_words,
    total_variation,
)
from experiments.record import percent, spread
from experiments.translators import translator


SEEDS = range(3)
N_SENTENCES = 200
N_SEARCHED = 100
N_RIGHT = 300  # right neighbours whose attention is looked at
Pair = tuple[str, str]
CHANGES = {
    "none": "不变 | none",
    "names": "两个名字互换 | names exchanged",
    "not": "加上否定 | negated",
    "slip": "相邻两词颠倒 | neighbours exchanged",
}


def make_changes(pairs: list[Pair]) -> dict[str, list[Pair]]:
    """Sentences for each change, with what is right afterwards."""
    rng = random.Random(0)
    names = [changed for pair in pairs if (changed := swap_names(pair))]
    negated = [changed for pair in pairs if (changed := negate(pair))]
    slips = [(swap_words(english, rng), zh) for english, zh in pairs]
    return {
        "none": pairs[:N_SENTENCES],
        "names": names[:N_SENTENCES],
        "not": negated[:N_SENTENCES],
        "slip": slips[:N_SENTENCES],
    }


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
    if len(targets[0]) != len(targets[1]):
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


def run(seed: int) -> dict[str, float]:
    model = translator(seed)
    grammar = TracedGrammar()
    pairs = make_split(n_train=1, n_test=1000, grammar=grammar).sentences
    results: dict[str, float] = {}
    for name, changed in make_changes(pairs).items():
        confidence, right = judge(model, changed)
        results |= {
            f"{name}: n": len(changed),
            f"{name}: accuracy": right.double().mean().item(),
            f"{name}: confidence": confidence.double().mean().item(),
            f"{name}: error": expected_calibration_error(confidence, right),
        }
    results |= search(model, pairs[:N_SEARCHED], grammar, seed)
    return results


def search(
    model: Translator, pairs: list[Pair], grammar: TracedGrammar, seed: int
) -> dict[str, float]:
    """Change each sentence by one word in every way."""
    _, right_before = judge(model, pairs)
    around = [grammar.neighbours(english) for english, _ in pairs]
    changed = [(p.english, p.chinese) for each in around for p in each]
    confidence, right = judge(model, changed)
    owner = [i for i, each in enumerate(around) for _ in each]
    new_pair = [
        any(map(is_held_out, p.pairs)) for each in around for p in each
    ]
    failing = (~right).nonzero().flatten().tolist()
    attacked = {owner[i] for i in failing}
    shares = [0.0] * len(pairs)
    for i in failing:
        shares[owner[i]] += 1 / len(around[owner[i]])
    rng = random.Random(seed)
    kept = rng.sample(right.nonzero().flatten().tolist(), N_RIGHT)
    moves: dict[bool, list[float]] = {True: [], False: []}
    doubts: dict[bool, list[float]] = {True: [], False: []}
    for i in [*failing, *kept]:
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
        "search: failing with an unseen pair": sum(
            new_pair[i] for i in failing
        ),
        "search: unseen pairs": sum(new_pair),
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


def tables(results: dict[str, list[float]]) -> dict[str, list[list[str]]]:
    head = [
        "改动 | change",
        "句数 | sentences",
        "正确率 | accuracy",
        "置信度 | confidence",
        "校准误差 | calibration error",
    ]
    rows = [
        [
            title,
            f"{results[f'{name}: n'][0]:.0f}",
            *(
                percent(results[f"{name}: {what}"])
                for what in ("accuracy", "confidence", "error")
            ),
        ]
        for name, title in CHANGES.items()
    ]
    names = {
        "right": "改之前译对 | right before",
        "random": "随机改一个词，译错 | wrong after a random change",
        "attacked": "至少有一种改法译错 | wrong after some change",
    }
    search = [["100 句 | 100 sentences", "比例 | share"]]
    search += [
        [title, percent(results[f"search: {name}"])]
        for name, title in names.items()
    ]
    attention = [
        ["改了一个词以后 | after one word", "注意力移动 | attention moved"],
        ["译对 | right", spread(results["attention: right"])],
        ["译错 | wrong", spread(results["attention: wrong"])],
    ]
    return {
        "sentences": [head, *rows],
        "search": search,
        "attention": attention,
    }
