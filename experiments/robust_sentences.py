"""The grammar's translators and changed sentences.

Sentences are changed so that the right translation is known, in the last rows
by slips of the writer, whose meaning stays.
"""

import functools
import random
from collections.abc import Callable

from attention_book import expected_calibration_error
from attention_book.data.split import make_split
from corpora.biased.replays import ReplayableGrammar
from corpora.biased.sentences import negate, swap_names, swap_words
from experiments.fitting import Pair, judge
from experiments.record import percent
from experiments.translators import translator


SEEDS = range(3)
N_SENTENCES = 200
N_SEARCHED = 100
SLIPS = (1, 2, 4)
CHANGES = {
    "none": "不变 | none",
    "names": "两个名字互换 | two names exchanged",
    "not": "加上否定 | negated",
    "word": "换一个词，各种换法 | one word, in every way",
    "slip 1": "相邻两词颠倒 | two neighbours exchanged",
    "slip 2": "颠倒 2 次 | exchanged 2 times",
    "slip 4": "颠倒 4 次 | exchanged 4 times",
    "shuffled": "词序打乱 | words shuffled",
}


def changed_by(change: Callable[[str], str], text: str) -> str:
    """A sentence after a change at random, until it is another sentence."""
    while (changed := change(text)) == text:
        pass
    return changed


def make_changes(
    pairs: list[Pair], grammar: ReplayableGrammar
) -> dict[str, list[Pair]]:
    """Sentences for each change, with what is right afterwards."""
    rng = random.Random(0)
    names = [changed for pair in pairs if (changed := swap_names(pair))]
    negated = [changed for pair in pairs if (changed := negate(pair))]
    around = [
        (phrase.english, phrase.chinese)
        for english, _ in pairs[:N_SEARCHED]
        for phrase in grammar.neighbours(english)
    ]
    changes = {
        "none": pairs[:N_SENTENCES],
        "names": names[:N_SENTENCES],
        "not": negated[:N_SENTENCES],
        "word": around,
    }

    def slip(text: str, n: int) -> str:
        for _ in range(n):
            text = swap_words(text, rng)
        return text

    def shuffle(text: str) -> str:
        *words, end = text.split()
        return " ".join([*rng.sample(words, len(words)), end])

    slips: dict[str, Callable[[str], str]] = {
        f"slip {n}": functools.partial(slip, n=n) for n in SLIPS
    }
    for name, change in (slips | {"shuffled": shuffle}).items():
        changes[name] = [
            (changed_by(change, english), chinese)
            for english, chinese in pairs[:N_SENTENCES]
        ]
    return changes


def run(seed: int) -> dict[str, float]:
    model = translator(seed)
    grammar = ReplayableGrammar()
    pairs = make_split(n_train=1, n_test=1000, grammar=grammar).sentences
    results: dict[str, float] = {}
    for name, changed in make_changes(pairs, grammar).items():
        confidence, right = judge(model, changed)
        results |= {
            f"{name}: n": len(changed),
            f"{name}: wrong": (~right).sum().item(),
            f"{name}: accuracy": right.double().mean().item(),
            f"{name}: confidence": confidence.double().mean().item(),
            f"{name}: error": expected_calibration_error(confidence, right),
        }
        if name == "shuffled":
            doubtful = confidence[~right].double().mean().item()
            results[f"{name}: confidence where wrong"] = doubtful
    return results


def tables(results: dict[str, list[float]]) -> dict[str, list[list[str]]]:
    head = [
        "改动 | change",
        "句数 | sentences",
        "正确率 | accuracy",
        "置信度 | confidence",
        "校准误差 | ECE",
    ]

    def cell(values: list[float]) -> str:
        shown = {f"{100 * value:.1f}%" for value in values}
        return shown.pop() if len(shown) == 1 else percent(values)

    rows = [
        [
            title,
            f"{results[f'{name}: n'][0]:,.0f}",
            *(
                # no translation of a shuffled sentence is right or wrong
                "–"
                if name == "shuffled" and what != "confidence"
                else cell(results[f"{name}: {what}"])
                for what in ("accuracy", "confidence", "error")
            ),
        ]
        for name, title in CHANGES.items()
        if name not in ("word", "slip 2")
    ]
    return {"sentences": [head, *rows]}
