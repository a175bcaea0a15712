"""Digits read by a ViT, a convolutional network and others, on one recipe.

Every model sees the same number of images, each distorted anew, in batches of
64. Its learning rate is the best of three on a validation set that is no part
of the training set or of the test set. All digits are given, or a tenth. Then
how large the ViT's positions should begin, with few epochs and with all.
"""

from collections.abc import Callable, Mapping
from statistics import fmean
from typing import Any

import torch
from torch import nn

from attention_book.data.digits import Digits
from attention_book.models.config import ViTConfig
from attention_book.models.vit import ViT
from attention_book.training.classifiers import (
    ImageBatches,
    random_affine,
    train_classifier,
)
from experiments.record import percent
from literate.chapter import defined_in


SEEDS = range(3)
CHAPTER = "docs/beyond/vit.md"
SPLIT = ("fit", "validation", "test")
EPOCHS = {"all": 30, "tenth": 301}  # 34,600 images each
TENTH = 115
SHORT = 8  # epochs
COPIES = 10  # distorted, for the nearest neighbour
AMOUNT = 0.1  # of distortion
RATES = (0.001, 0.003, 0.005)
LINEAR_RATES = (0.003, 0.01, 0.03)
NAMES = {
    "linear": "线性模型 | linear model",
    "nearest": "最近邻 | nearest neighbour",
    "nearest copies": "最近邻，另加变形的 | the same, with distorted copies",
    "convolution": "卷积网络 | convolutional network",
    "ViT": "ViT",
}
TASKS = {
    "all": "1,154 张 | 1,154 images",
    "tenth": "115 张 | 115 images",
}


def linear() -> nn.Module:
    return nn.Sequential(nn.Flatten(), nn.Linear(64, 10))


def vit(**changes: Any) -> ViT:
    sizes: dict[str, Any] = {
        "image_size": 8,
        "patch_size": 2,
        "n_channels": 1,
        "n_classes": 10,
        "d_model": 64,
        "n_heads": 4,
        "d_ff": 128,
        "n_layers": 3,
    }
    return ViT(ViTConfig(**{**sizes, **changes}))


def small_positions() -> ViT:
    model = vit()
    nn.init.normal_(model.positions.table, std=0.02)
    return model


def cells() -> dict[str, Any]:
    """What the chapter defines, its split of the digits among it."""
    return defined_in(
        CHAPTER,
        "torch",
        "fit",
        "convolutional",
        "uneven_light",
        "standardised",
        "without_light",
    )


def distorted(data: Digits, seed: int) -> Digits:
    """Copies of each image, each distorted in its own way."""
    images = data.images.repeat(COPIES, 1, 1, 1)
    generator = torch.Generator().manual_seed(seed)
    images = random_affine(images, AMOUNT, generator)
    return Digits(images, data.labels.repeat(COPIES))


@torch.no_grad()
def accuracy(model: nn.Module, data: Digits) -> float:
    found = model(data.images).argmax(dim=1)
    return (found == data.labels).double().mean().item()


def nearest(train: Digits, test: Digits) -> float:
    """Fraction of the images that are like the nearest training image."""
    distances = torch.cdist(test.images.flatten(1), train.images.flatten(1))
    found = train.labels[distances.argmin(dim=1)]
    return (found == test.labels).double().mean().item()


def train_with_each_rate(
    make: Callable[[], nn.Module],
    sets: tuple[Digits, Digits, Digits],
    *,
    epochs: int,
    seed: int,
    rates: tuple[float, ...] = RATES,
    augmentation: float = AMOUNT,
) -> dict[str, float]:
    """Validation and test accuracy after training with each learning rate."""
    fit, validation, test = sets
    found = {}
    for rate in rates:
        torch.manual_seed(seed)
        model = make()
        batches = ImageBatches(fit, augmentation=augmentation, seed=seed)
        train_classifier(
            model, batches, n_epochs=epochs, learning_rate=rate, seed=seed
        )
        found[f"{rate}, validation"] = accuracy(model, validation)
        found[f"{rate}, test"] = accuracy(model, test)
    return found


def best_rate(results: Mapping[str, list[float]], arm: str) -> float:
    """The learning rate with the best mean on the validation set."""
    rates = {
        float(key.split(", ")[-2]): fmean(values)
        for key, values in results.items()
        if key.startswith(f"{arm}, ") and key.endswith(", validation")
    }
    return max(rates, key=rates.__getitem__)


def at_best(results: Mapping[str, list[float]], arm: str) -> list[float]:
    """Test accuracy at the learning rate that validation chose."""
    return results[f"{arm}, {best_rate(results, arm)}, test"]


def cell(values: list[float]) -> str:
    if len(set(values)) == 1:  # nothing depends on the seed
        return f"{100 * values[0]:.1f}%"
    return percent(values)


def run(seed: int) -> dict[str, float]:
    chapter = cells()
    fit, validation, test = (chapter[name] for name in SPLIT)
    order = torch.Generator().manual_seed(seed)
    rows = torch.randperm(len(fit.labels), generator=order)[:TENTH]
    sets = {
        "all": (fit, validation, test),
        "tenth": (
            Digits(fit.images[rows], fit.labels[rows]),
            validation,
            test,
        ),
    }
    makers = {
        "linear": linear,
        "convolution": chapter["convolutional"],
        "ViT": vit,
    }
    arms = [
        (task, name, make, EPOCHS[task])
        for task in TASKS
        for name, make in makers.items()
    ] + [
        ("all", "small positions", small_positions, EPOCHS["all"]),
        ("all", "short, small positions", small_positions, SHORT),
        ("all", "short, ViT", vit, SHORT),
    ]
    found = {}
    for task in TASKS:
        seen, _, unseen = sets[task]
        found[f"{task}, nearest, test"] = nearest(seen, unseen)
        copies = distorted(seen, seed)
        both = Digits(
            torch.cat([seen.images, copies.images]),
            torch.cat([seen.labels, copies.labels]),
        )
        found[f"{task}, nearest copies, test"] = nearest(both, unseen)
    for task, name, make, epochs in arms:
        rates = LINEAR_RATES if name == "linear" else RATES
        results = train_with_each_rate(
            make, sets[task], epochs=epochs, seed=seed, rates=rates
        )
        found |= {f"{task}, {name}, {k}": x for k, x in results.items()}
    return found


def tables(results: dict[str, list[float]]) -> dict[str, list[list[str]]]:
    def chosen(task: str, name: str) -> str:
        if name.startswith("nearest"):
            return cell(results[f"{task}, {name}, test"])
        return cell(at_best(results, f"{task}, {name}"))

    digits = [["模型 | model", *TASKS.values()]] + [
        [title, *(chosen(task, name) for task in TASKS)]
        for name, title in NAMES.items()
    ]
    positions = [
        [
            "位置的标准差 | deviation of positions",
            "8 轮 | 8 epochs",
            "30 轮 | 30 epochs",
        ],
        ["0.5", chosen("all", "short, ViT"), chosen("all", "ViT")],
        [
            "0.02",
            chosen("all", "short, small positions"),
            chosen("all", "small positions"),
        ],
    ]
    return {"digits": digits, "positions": positions}
