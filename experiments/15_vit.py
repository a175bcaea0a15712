"""Digits read by a ViT, a convolutional network and others: chapter 15.

First the digits as they are, with all training images and with a tenth of
them. Then digits at random places on a larger canvas, among fragments of
other digits; the cells of the chapter make these images. Last, in chapter 45,
how large position vectors should begin.
"""

from collections.abc import Callable

import torch
from torch import nn

from attention_book.vit import (
    Digits,
    ViT,
    ViTConfig,
    digits,
    train_classifier,
)
from experiments.record import percent
from literate.chapter import defined_in


SEEDS = range(3)
CHAPTER = "docs/chapters/15-vit.md"
PARTS = ("clutter",)
EPOCHS_CLUTTER = {"linear": 8, "convolution": 8, "ViT": 16}
EPOCHS = dict.fromkeys(EPOCHS_CLUTTER, 25)
EPOCHS_TENTH = dict.fromkeys(EPOCHS_CLUTTER, 120)  # for steps enough
EPOCHS_POSITIONS = 8
PLACES = 10  # of each digit on the canvas
RATES = {"linear": 1e-2, "convolution": 2e-3, "ViT": 2e-3}
NAMES = {
    "linear": "线性模型 | linear model",
    "nearest": "最近邻 | nearest neighbour",
    "convolution": "卷积网络 | convolutional network",
    "ViT": "ViT",
}


def linear(side: int) -> nn.Module:
    return nn.Sequential(nn.Flatten(), nn.Linear(side**2, 10))


def convolution(side: int) -> nn.Module:
    """Three convolutions; a map of 4 by 4 is left for images of 8 and 16."""
    halve = [nn.MaxPool2d(2)] if side == 16 else []
    return nn.Sequential(
        nn.Conv2d(1, 32, 3, padding=1),
        nn.ReLU(),
        *halve,
        nn.Conv2d(32, 64, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(64, 64, 3, padding=1),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(64 * 4 * 4, 10),
    )


def vit(side: int) -> ViT:
    """Sixteen patches, of 2 by 2 or 4 by 4."""
    sizes = {"d_model": 64, "n_heads": 4, "d_ff": 128, "n_layers": 3}
    return ViT(
        ViTConfig(
            image_size=side,
            patch_size=side // 4,
            n_channels=1,
            n_classes=10,
            **sizes,
        )
    )


MAKERS: dict[str, Callable[[int], nn.Module]] = {
    "linear": linear,
    "convolution": convolution,
    "ViT": vit,
}


@torch.no_grad()
def accuracy(model: nn.Module, data: Digits) -> float:
    found = model(data.images).argmax(dim=1)
    return (found == data.labels).double().mean().item()


def nearest(train: Digits, test: Digits) -> float:
    """Fraction of the images that are like the nearest training image."""
    distances = torch.cdist(test.images.flatten(1), train.images.flatten(1))
    found = train.labels[distances.argmin(dim=1)]
    return (found == test.labels).double().mean().item()


def run(seed: int) -> dict[str, float]:
    train, test = digits()
    order = torch.Generator().manual_seed(seed)
    rows = torch.randperm(len(train.labels), generator=order)[:145]
    clutter = defined_in(CHAPTER, *PARTS)["clutter"]
    tasks = {
        "all": (train, test, EPOCHS, 0.1),
        "tenth": (
            Digits(train.images[rows], train.labels[rows]),
            test,
            EPOCHS_TENTH,
            0.1,
        ),
        "clutter": (
            clutter(train, PLACES, seed),
            clutter(test, 2, seed + 1000),
            EPOCHS_CLUTTER,
            0.0,
        ),
    }
    found = {}
    for task, (seen, unseen, epochs, augmentation) in tasks.items():
        found[f"{task}, nearest"] = nearest(seen, unseen)
        for name, make in MAKERS.items():
            torch.manual_seed(seed)
            model = make(seen.images.shape[-1])
            train_classifier(
                model,
                seen,
                n_epochs=epochs[name],
                learning_rate=RATES[name],
                augmentation=augmentation,
                seed=seed,
            )
            found[f"{task}, {name}"] = accuracy(model, unseen)
    for size in (0.5, 0.02):
        torch.manual_seed(seed)
        model = vit(8)
        nn.init.normal_(model.positions.table, std=size)
        train_classifier(model, train, n_epochs=EPOCHS_POSITIONS, seed=seed)
        found[f"positions {size}"] = accuracy(model, test)
    return found


def tables(results: dict[str, list[float]]) -> dict[str, list[list[str]]]:
    def size(name: str, side: int) -> str:
        if name == "nearest":
            return "–"
        return f"{sum(p.numel() for p in MAKERS[name](side).parameters()):,}"

    def cell(task: str, name: str) -> str:
        values = results[f"{task}, {name}"]
        if len(set(values)) == 1:  # nothing depends on the seed
            return f"{100 * values[0]:.1f}%"
        return percent(values)

    plain = [
        [
            "认对百分之几 | accuracy",
            "参数 | parameters",
            "1,442 张 | 1,442 images",
            "145 张 | 145 images",
        ]
    ]
    clutter = [
        [
            "认对百分之几 | accuracy",
            "参数 | parameters",
            "轮数 | epochs",
            "碎片中的数字 | digit among fragments",
        ]
    ]
    for name, title in NAMES.items():
        plain.append(
            [title, size(name, 8), cell("all", name), cell("tenth", name)]
        )
        epochs = str(EPOCHS_CLUTTER.get(name, "–"))
        clutter.append([title, size(name, 16), epochs, cell("clutter", name)])
    positions = [
        ["位置的标准差 | deviation of positions", "认对百分之几 | accuracy"]
    ] + [[f"{x}", percent(results[f"positions {x}"])] for x in (0.5, 0.02)]
    return {"digits": plain, "clutter": clutter, "positions": positions}
