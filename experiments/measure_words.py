"""Measure words found by language models, for "BERT and GPT".

Does a masked model use the words after a gap? What would refute it: measure
words are found as often with their noun hidden, or no less often with another
word hidden. And does it find the noun, or only look at the next word? Then it
would do no better than counting where the noun comes later.

The arms are those of language-models, at the rate and with the steps that
validation chose there; those with one tenth take over those of 80/10/10.
"""

import random
from collections import Counter, defaultdict
from functools import cache
from typing import Any

import torch
from torch import Tensor

from attention_book.data.batches import pad
from attention_book.data.lexicon import NOUNS, NUMBERS
from experiments.record import percent
from experiments.sentence_models import best, cells


SEEDS = range(3)
ARMS = {
    "causal": "因果 | causal",
    "always": "掩码，总用 `<mask>` | masked, always `<mask>`",
    "90/10/0": "掩码，一成随机 | masked, a random tenth",
    "90/0/10": "掩码，一成不动 | masked, a tenth stays",
    "80/10/10": "掩码，80/10/10 | masked, 80/10/10",
}
COUNTED = {
    "commonest": "总猜最常见的 | always the commonest",
    "before": "数前面两个词 | counting by two words before",
    "beside": "数左右两个词 | counting by both neighbours",
}
BEFORE = {"一", "这", "那", *NUMBERS.values()}  # a measure word
Rows = list[list[int]]


def find_measure_words(rows: Rows) -> list[tuple[int, int, int, int]]:
    """The row, measure word, noun and another word of each noun phrase.

    All but the row are positions. The other word comes neither between the
    two nor beside them; phrases without such a word are left out.
    """
    words_of, found = cells()["tokenizer"].words, []
    measures = dict(NOUNS.values())
    rng = random.Random(0)
    for i, ids in enumerate(rows):
        words = [words_of[x] for x in ids]
        for j in range(1, len(ids) - 1):
            if words[j - 1] not in BEFORE:
                continue
            k = next(
                (k for k in range(j, len(ids)) if words[k] in measures), 0
            )
            others = [*range(1, j - 1), *range(k + 2, len(ids) - 1)]
            if k and measures[words[k]] == words[j] and others:
                found.append((i, j, k, rng.choice(others)))
    return found


@cache
def of_test() -> Tensor:
    """The measure words of the test sentences, as find_measure_words."""
    return torch.tensor(find_measure_words(cells()["test_rows"]))


def split(name: str, right: Tensor) -> dict[str, float]:
    """The share found where the noun comes next, later, and in all."""
    _, j, k, _ = of_test().T
    found = {
        "next": right[k == j + 1],
        "later": right[k > j + 1],
        "all": right,
    }
    return {
        f"{name}, {key}": x.double().mean().item() for key, x in found.items()
    }


@cache
def baselines() -> dict[str, float]:
    """Measure words guessed by counting those of the training sentences."""
    rows = cells()["train_rows"]
    counts: dict[Any, Counter[int]] = defaultdict(Counter)

    def clues(row: list[int], j: int) -> dict[str, Any]:
        return {
            "commonest": None,
            "before": tuple(row[j - 2 : j]),
            "beside": (row[j - 1], "", row[j + 1]),
        }

    for i, j, *_ in find_measure_words(rows):
        for clue in clues(rows[i], j).values():
            counts[clue][rows[i][j]] += 1
    best = {clue: x.most_common(1)[0][0] for clue, x in counts.items()}
    right: dict[str, list[bool]] = defaultdict(list)
    rows = cells()["test_rows"]
    for i, j, *_ in of_test().tolist():
        for name, clue in clues(rows[i], j).items():
            right[name].append(best.get(clue, best[None]) == rows[i][j])
    found: dict[str, float] = {}
    for name, values in right.items():
        found |= split(name, torch.tensor(values))
    return found


@torch.no_grad()
def accuracy(arm: str, model: Any) -> dict[str, float]:
    """How often measure words are found, with what is hidden beside them."""
    page = cells()
    ids, lengths = pad([page["test_rows"][i] for i, *_ in of_test().tolist()])
    every = torch.arange(len(ids))
    _, j, k, other = of_test().T
    if arm == "causal":
        return split(arm, model(ids).argmax(-1)[every, j - 1] == ids[every, j])
    found: dict[str, float] = {}
    for name, also in {"": j, ", noun hidden": k, ", other": other}.items():
        inputs = ids.clone()
        inputs[every, j] = inputs[every, also] = page["mask_id"]
        right = model(inputs, lengths)[every, j].argmax(-1) == ids[every, j]
        found |= split(f"{arm}{name}", right)
    return found


def run(seed: int) -> dict[str, float]:
    _, j, k, _ = of_test().T
    found = {"n": len(j), "n, next": (k == j + 1).sum().item(), **baselines()}
    for arm in ARMS:
        found |= accuracy(arm, best(arm, seed))
        print(arm, flush=True)
    return found


def tables(results: dict[str, list[float]]) -> dict[str, list[list[str]]]:
    def cell(name: str) -> str:
        values = results.get(name)
        if values is None:
            return "–"
        return (
            percent(values)
            if len(set(values)) > 1
            else f"{100 * values[0]:.1f}%"
        )

    measure = [
        [
            "模型 | model",
            "名词紧跟着 | noun next",
            "名词在后面 | noun later",
            "全部 | all",
            "还遮名词 | and the noun hidden",
            "还遮别的词 | and another word",
        ]
    ]
    for name, title in (COUNTED | ARMS).items():
        columns = ("next", "later", "all", "noun hidden, all", "other, all")
        measure.append([title, *(cell(f"{name}, {x}") for x in columns)])
    return {"measure": measure}
