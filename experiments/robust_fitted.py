"""Are counterexamples learnt in a longer training, or are they too few?

The classifier of `robust_shortcuts` again, with 100 or 300 counterexamples
of each kind, at half the learning rate and for five times as many epochs.
Training and test are both judged by group: what is wrong in training was not
fitted, and what is right in training and wrong in the test was learnt by
heart. Test pairs that stand in the training set are left out.
"""

import torch

from attention_book.models.text import SequenceClassifier
from attention_book.training.classifiers import predict
from corpora.biased.shortcuts import HEURISTICS, Inference, make_inferences
from experiments.record import percent
from experiments.robust_shortcuts import (
    COLUMNS,
    N_TEST,
    N_TEST_COUNTEREXAMPLES,
    N_TRAIN,
    encode,
    evaluate,
    tokenizer_of_all,
    train,
)


SEEDS = range(3)
COUNTS = (100, 300)  # counterexamples against each heuristic
EPOCHS = 50
LEARNING_RATE = 1e-3


def share_right(model: SequenceClassifier, pairs: list[Inference]) -> float:
    found, label = predict(model, encode(tokenizer_of_all(), pairs))
    return torch.eq(found, label).double().mean().item()


def run(seed: int) -> dict[str, float]:
    drawn = make_inferences(N_TEST, N_TEST_COUNTEREXAMPLES, seed=1000 + seed)
    results: dict[str, float] = {}
    for n in COUNTS:
        training = make_inferences(N_TRAIN, n * len(HEURISTICS), seed=seed)
        seen = {(pair.premise, pair.hypothesis) for pair in training}
        test = [p for p in drawn if (p.premise, p.hypothesis) not in seen]
        model = train(training, seed, EPOCHS, LEARNING_RATE)
        results[f"{n}: test pairs left out"] = len(drawn) - len(test)
        for part, pairs in (("training", training), ("test", test)):
            results[f"{n}, {part}"] = share_right(model, pairs)
            for name, value in evaluate(model, pairs).items():
                results[f"{n}, {part}: {name}"] = value
    return results


def tables(results: dict[str, list[float]]) -> dict[str, list[list[str]]]:
    parts = {"training": "训练 | training", "test": "测试 | test"}
    rows = [
        [
            f"{n}，{zh} | {n}, {en}",
            percent(results[f"{n}, {part}"], 0),
            *(
                percent(results[f"{n}, {part}: does not, {name}"], 0)
                for name in ("no overlap", *COLUMNS)
            ),
        ]
        for n in COUNTS
        for part, title in parts.items()
        for zh, en in [title.split(" | ")]
    ]
    head = [
        "每种反例 | added of each",
        "全部 | all",
        "不重叠 | no overlap",
        *COLUMNS.values(),
    ]
    return {"fitted": [list(x) for x in zip(head, *rows, strict=True)]}
