"""Does pretraining save labels? For "Fine-tuning".

The task is to label the role of each word of an English sentence, learnt
from few labelled sentences. The trunk is that of the masked models of
language-models, trained on all sentences but those of validation and test,
without labels; or it begins with nothing. It is fine-tuned, or frozen under a
logistic regression. Pretraining saves nothing if it is no better than
counting, or than the same trunk from nothing. And does it still help when
there are many labels? Then it would be better in every column.

Each arm and number of labels has its rate, number of steps or strength of
regularisation from the best score on the same validation sentences.
"""

import random
from collections import Counter
from functools import cache
from itertools import product
from typing import Any

import torch
from sklearn.linear_model import LogisticRegression
from torch import Tensor

from attention_book.attention.functional import padding_mask
from attention_book.data.batches import pad
from attention_book.models.language import MaskedLanguageModel
from experiments.record import percent
from experiments.sentence_models import best, cells
from literate.chapter import defined_in


SEEDS = range(3)
CHAPTER = "docs/language/fine-tuning.md"
PARTS = ("page", "label_loss", "fine_tune", "labelled", "LoRALinear", "whole")
LABELLED = (10, 30, 100, 300)
RATES = (1e-3, 3e-3)
STEPS = (100, 300)
STRENGTHS = (0.1, 1.0, 10.0, 100.0)
ROWS = {
    "alone": "数单个词 | counting each word alone",
    "neighbours": "数左右两个词 | counting by both neighbours",
    "nothing": "不预训练 | nothing",
    "frozen": "预训练后冻结 | pretrained and frozen",
    "tuned": "预训练后微调 | pretrained and tuned",
    "always": "总用 `<mask>` 预训练后微调 | "
    "pretrained with `<mask>` alone and tuned",
}
CLUES = {"alone": 2, "neighbours": 5}  # how many are asked
Examples = list[tuple[list[int], list[int]]]
Parts = tuple[Examples, Examples, Examples]


@cache
def chapter() -> dict[str, Any]:
    return defined_in(CHAPTER, *PARTS)


def draw(seed: int, n: int) -> Parts:
    """The n labelled sentences of a seed, then validation and test."""
    labelled = chapter()["labelled"]
    drawn = random.Random(seed).sample(labelled[1500:], max(LABELLED))
    return drawn[:n], labelled[1000:1500], labelled[:1000]


def tuned(start: Any, parts: Parts, seed: int) -> float:
    """Test score of the rate and number of steps that validation chose."""
    page = chapter()
    training, chosen_on, tested_on = parts
    models = [
        page["fine_tune"](start, training, seed, n_steps, rate)
        for rate, n_steps in product(RATES, STEPS)
    ]
    chosen = max(models, key=lambda model: page["whole"](model, chosen_on))
    return float(page["whole"](chosen, tested_on))


def clues(ids: list[int], i: int) -> list[tuple[int, ...]]:
    """What to go by, the surest last: nothing, the word, its neighbours."""
    left, word, right = ids[i - 1 : i + 2]
    one = [(left, word, -1), (-1, word, right)]
    return [(), (word,), *one, (left, word, right)]


def counted(parts: Parts, n_clues: int) -> float:
    """Test score of the commonest role by the surest clue that was seen."""
    training, _, tested_on = parts
    counts: dict[tuple[int, ...], Counter[int]] = {}
    for ids, labels in training:
        for i in range(1, len(ids) - 1):
            for clue in clues(ids, i):
                counts.setdefault(clue, Counter())[labels[i]] += 1
    roles = {clue: x.most_common(1)[0][0] for clue, x in counts.items()}

    def found(ids: list[int], i: int) -> int:
        asked = clues(ids, i)[:n_clues]
        return next(roles[x] for x in reversed(asked) if x in roles)

    hits = [
        all(found(ids, i) == labels[i] for i in range(1, len(ids) - 1))
        for ids, labels in tested_on
    ]
    return sum(hits) / len(hits)


@torch.no_grad()
def vectors(model: Any, examples: Examples) -> Any:
    """The vector of each word, `<bos>` and `<eos>` left out."""
    ids, lengths = pad([ids for ids, _ in examples])
    x: Tensor = model.encoder(ids, lengths)
    is_word = padding_mask(lengths - 1, ids.shape[1]).flatten(1)
    is_word[:, 0] = False
    return x[is_word].numpy()


def frozen(model: Any, parts: Parts) -> float:
    """Test score of a logistic regression, its strength chosen likewise."""
    x = [vectors(model, part) for part in parts]
    y = [[y for _, labels in part for y in labels[1:-1]] for part in parts]
    sizes = [[len(ids) - 2 for ids, _ in part] for part in parts]

    def score(classifier: LogisticRegression, part: int) -> float:
        hits = torch.from_numpy(classifier.predict(x[part]) == y[part])
        whole = [bool(x.all()) for x in torch.split(hits, sizes[part])]
        return sum(whole) / len(whole)

    models = [
        LogisticRegression(C=strength, max_iter=5_000).fit(x[0], y[0])
        for strength in STRENGTHS
    ]
    return score(max(models, key=lambda model: score(model, 1)), 2)


def run(seed: int) -> dict[str, float]:
    """Sentences without a mistake, by arm and number of labelled ones."""
    starts = {
        "nothing": cells()["make_model"](MaskedLanguageModel, seed),
        "tuned": best("80/10/10", seed),
        "always": best("always", seed),
    }
    found: dict[str, float] = {}
    for n in LABELLED:
        parts = draw(seed, n)
        scores = {row: counted(parts, k) for row, k in CLUES.items()}
        scores["frozen"] = frozen(starts["tuned"], parts)
        for row, start in starts.items():
            scores[row] = tuned(start, parts, seed)
        found |= {f"{row}, {n} labelled": scores[row] for row in ROWS}
        print(n, scores, flush=True)
    return found


def tables(results: dict[str, list[float]]) -> dict[str, list[list[str]]]:
    head = ["模型 | model", *(f"{n} 句 | {n} labelled" for n in LABELLED)]
    rows = [
        [
            title,
            *(percent(results[f"{row}, {n} labelled"]) for n in LABELLED),
        ]
        for row, title in ROWS.items()
    ]
    return {"roles": [head, *rows]}
