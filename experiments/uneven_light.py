"""Digits in uneven light: as they are, standardised, and without the light.

The digits of the experiment vit, distorted and then lit by a cell of the
chapter. Which of the nearest neighbour, a linear model, a convolutional
network and a ViT can still read them? How much of the difference goes when
each image is given a mean of 0 and a deviation of 1, and how much when the
light itself is projected out, which takes knowing how it was made? If
training gave what no stored image can, the nearest neighbour would stay
behind there too. Every model has the same epochs, and the best of three
learning rates on a validation set.
"""

from collections.abc import Callable

import torch
from torch import nn

from attention_book.data.digits import Digits
from experiments.vit import (
    COPIES,
    SPLIT,
    at_best,
    cell,
    cells,
    distorted,
    linear,
    nearest,
    train_with_each_rate,
    vit,
)


SEEDS = range(3)
EPOCHS = 16  # of 11,540 images
RATES = (0.001, 0.003, 0.006)
LINEAR_RATES = (0.01, 0.03, 0.1)
INPUTS = {
    "raw": "原来的亮度 | brightness as it is",
    "standardised": "标准化以后 | standardised",
    "without_light": "去掉光 | without the light",
}
NAMES = {
    "linear": "线性模型 | linear model",
    "nearest": "最近邻 | nearest neighbour",
    "nearest undistorted": "最近邻，图不变形 | the same, copies undistorted",
    "ViT": "ViT",
    "convolution": "卷积网络 | convolutional network",
}


def task(seed: int) -> tuple[Digits, Digits, Digits]:
    """Digits to train on, to validate and to test on, each in lights."""
    chapter = cells()
    light = chapter["uneven_light"]
    fit, validation, test = (chapter[name] for name in SPLIT)
    return (
        light(distorted(fit, seed), 1, seed),
        light(validation, 1, seed + 2000),
        light(test, 1, seed + 1000),
    )


def run(seed: int) -> dict[str, float]:
    chapter = cells()
    makers: dict[str, Callable[[], nn.Module]] = {
        "linear": linear,
        "convolution": chapter["convolutional"],
        "ViT": vit,
    }
    found = {}
    for given in INPUTS:
        treat = chapter.get(given, lambda data: data)
        fit, validation, test = map(treat, task(seed))
        sets = fit, validation, test
        found[f"{given}, nearest, test"] = nearest(fit, test)
        kept = treat(chapter["uneven_light"](chapter["fit"], COPIES, seed))
        found[f"{given}, nearest undistorted, test"] = nearest(kept, test)
        for name, make in makers.items():
            torch.manual_seed(seed)
            results = train_with_each_rate(
                make,
                sets,
                epochs=EPOCHS,
                seed=seed,
                rates=LINEAR_RATES if name == "linear" else RATES,
                augmentation=0.0,  # distorted already
            )
            found |= {f"{given}, {name}, {k}": x for k, x in results.items()}
    return found


def tables(results: dict[str, list[float]]) -> dict[str, list[list[str]]]:
    def chosen(arm: str) -> str:
        if "nearest" in arm:
            return cell(results[f"{arm}, test"])
        return cell(at_best(results, arm))

    light = [["模型 | model", *INPUTS.values()]]
    for name, title in NAMES.items():
        row = [chosen(f"{given}, {name}") for given in INPUTS]
        light.append([title, *row])
    return {"light": light}
