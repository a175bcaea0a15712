"""Does pretraining save labels? For "Fine-tuning".

The task is to tell the construction of an English sentence from few labels.
The trunk is that of the masked models of language-models, trained on all
sentences but those of validation and test, without labels; or it begins with
nothing. It is fine-tuned, or frozen under a logistic regression. The sentence
is read off `<bos>` or off the mean of its tokens. Pretraining saves nothing
if it is no better than a bag of words, or than the same trunk from nothing.

Each arm and number of labels has its rate, number of steps or strength of
regularisation from the best accuracy on the same validation sentences.
"""

import random
from collections import Counter
from collections.abc import Callable
from functools import cache
from itertools import pairwise, product
from typing import Any

import torch
from sklearn.feature_extraction import DictVectorizer
from sklearn.linear_model import LogisticRegression
from torch import Tensor, nn

from attention_book.attention.functional import padding_mask
from attention_book.data.batches import pad
from attention_book.models.language import MaskedLanguageModel
from attention_book.models.text import SequenceClassifier
from experiments.record import percent
from experiments.sentence_models import LONGER, cells, trained
from literate.chapter import defined_in


SEEDS = range(3)
CHAPTER = "docs/language/fine-tuning.md"
PARTS = ("page", "MeanClassifier", "LoRALinear", "fine_tune", "labelled")
LABELLED = (30, 100, 300, 1000)
PRETRAINING_RATE = 3e-3  # the best one in language-models
RATES = (1e-3, 3e-3)
STEPS = (150, 500)
STRENGTHS = (0.1, 1.0, 10.0, 100.0)
ROWS = {
    "usual": "总猜最常见的 | always the commonest",
    "words": "词袋 | bag of words",
    "pairs": "词和词对的袋 | bag of words and pairs",
    "nothing, class": "不预训练，`<bos>` | nothing, `<bos>`",
    "nothing, mean": "不预训练，平均 | nothing, mean",
    "frozen, class": "预训练后冻结，`<bos>` | pretrained and frozen, `<bos>`",
    "frozen, mean": "预训练后冻结，平均 | pretrained and frozen, mean",
    "tuned, class": "预训练后微调，`<bos>` | pretrained and tuned, `<bos>`",
    "tuned, mean": "预训练后微调，平均 | pretrained and tuned, mean",
    "always, mean": "总用 `<mask>` 预训练后微调，平均 | "
    "pretrained with `<mask>` alone and tuned, mean",
}
Examples = list[tuple[list[int], int]]
Parts = tuple[Examples, Examples, Examples]


@cache
def chapter() -> dict[str, Any]:
    return defined_in(CHAPTER, *PARTS)


@torch.no_grad()
def accuracy(model: nn.Module, examples: Examples) -> float:
    logits = model(*pad([ids for ids, _ in examples]))
    labels = torch.tensor([label for _, label in examples])
    return (logits.argmax(-1) == labels).double().mean().item()


def tuned(start: Any, kind: type[nn.Module], parts: Parts, seed: int) -> float:
    """Test accuracy of the rate and number of steps that validation chose."""
    training, chosen_on, tested_on = parts
    models = [
        chapter()["fine_tune"](kind, start, training, seed, n_steps, rate)
        for rate, n_steps in product(RATES, STEPS)
    ]
    best = max(models, key=lambda model: accuracy(model, chosen_on))
    return accuracy(best, tested_on)


def regression(features: Callable[[Examples], Any], parts: Parts) -> float:
    """Test accuracy of a logistic regression, its strength chosen likewise."""
    x = [features(part) for part in parts]
    y = [[label for _, label in part] for part in parts]
    models = [
        LogisticRegression(C=strength, max_iter=5_000).fit(x[0], y[0])
        for strength in STRENGTHS
    ]
    best = max(models, key=lambda model: float(model.score(x[1], y[1])))
    return float(best.score(x[2], y[2]))


def bag(examples: Examples, n: int) -> Callable[[Examples], Any]:
    """Counts of words, and with n = 2 of pairs too, that the examples have."""

    def counted(part: Examples) -> list[Counter[str]]:
        return [
            Counter(map(str, [*ids, *(pairwise(ids) if n == 2 else [])]))
            for ids, _ in part
        ]

    vectorizer = DictVectorizer().fit(counted(examples))
    return lambda part: vectorizer.transform(counted(part))


@torch.no_grad()
def frozen(model: Any, how: str, examples: Examples) -> Any:
    """The vector of each sentence."""
    ids, lengths = pad([ids for ids, _ in examples])
    x: Tensor = model.encoder(ids, lengths)
    if how == "class":
        return x[:, 0].numpy()
    is_real = padding_mask(lengths, ids.shape[1]).flatten(1)
    mean = (x * is_real[:, :, None]).sum(1) / lengths[:, None]
    return mean.numpy()


def run(seed: int) -> dict[str, float]:
    """Accuracy by arm and number of labelled sentences."""
    labelled = chapter()["labelled"]
    tested_on, chosen_on = labelled[:1000], labelled[1000:1500]
    drawn = random.Random(seed).sample(labelled[1500:], max(LABELLED))
    starts = {
        "nothing": cells()["make_model"](MaskedLanguageModel, seed),
        "tuned": trained("80/10/10", PRETRAINING_RATE, seed, LONGER),
        "always": trained("always", PRETRAINING_RATE, seed, LONGER),
    }
    kinds = {"class": SequenceClassifier, "mean": chapter()["MeanClassifier"]}
    found = {}
    for n in LABELLED:
        parts = drawn[:n], chosen_on, tested_on
        ((usual, _),) = Counter(y for _, y in parts[0]).most_common(1)
        scores = {
            "usual": sum(y == usual for _, y in tested_on) / len(tested_on),
            "words": regression(bag(parts[0], 1), parts),
            "pairs": regression(bag(parts[0], 2), parts),
        }
        for row in list(ROWS)[3:]:
            start, how = row.split(", ")
            if start == "frozen":
                model = starts["tuned"]
                scores[row] = regression(
                    lambda part, model=model, how=how: frozen(
                        model, how, part
                    ),
                    parts,
                )
            else:
                scores[row] = tuned(starts[start], kinds[how], parts, seed)
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
    return {"constructions": [head, *rows]}
