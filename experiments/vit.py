"""Digits read by a ViT, a convolutional network and others.

First the digits as they are, with all training images and with a tenth of
them. Then the same digits in uneven light, made by a cell of the chapter.
Last, how large position vectors should begin.
"""

from collections.abc import Callable

import torch
from torch import nn

from attention_book.data.digits import Digits, load_digits
from attention_book.models.config import ViTConfig
from attention_book.models.vit import ViT
from attention_book.training.classifiers import ImageBatches, train_classifier
from experiments.record import percent
from literate.chapter import defined_in


SEEDS = range(3)
CHAPTER = "docs/beyond/vit.md"
PARTS = ("torch", "uneven_light")
EPOCHS = 25
EPOCHS_TENTH = 120  # so that there are steps enough
EPOCHS_LIGHT = 4
EPOCHS_POSITIONS = 8
LIGHTS = 10  # for each digit
RATES = {"linear": 1e-2, "convolution": 2e-3, "ViT": 2e-3}
NAMES = {
    "linear": "线性模型 | linear model",
    "nearest": "最近邻 | nearest neighbour",
    "convolution": "卷积网络 | convolutional network",
    "ViT": "ViT",
}


def linear() -> nn.Module:
    return nn.Sequential(nn.Flatten(), nn.Linear(64, 10))


def convolution() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(1, 32, 3, padding=1),
        nn.ReLU(),
        nn.Conv2d(32, 64, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(64, 64, 3, padding=1),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(64 * 4 * 4, 10),
    )


def vit() -> ViT:
    return ViT(
        ViTConfig(
            image_size=8,
            patch_size=2,
            n_channels=1,
            n_classes=10,
            d_model=64,
            n_heads=4,
            d_ff=128,
            n_layers=3,
        )
    )


MAKERS: dict[str, Callable[[], nn.Module]] = {
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
    train, test = load_digits()
    order = torch.Generator().manual_seed(seed)
    rows = torch.randperm(len(train.labels), generator=order)[:145]
    uneven_light = defined_in(CHAPTER, *PARTS)["uneven_light"]
    tasks = {
        "all": (train, test, EPOCHS, 0.1),
        "tenth": (
            Digits(train.images[rows], train.labels[rows]),
            test,
            EPOCHS_TENTH,
            0.1,
        ),
        "light": (
            uneven_light(train, LIGHTS, seed),
            uneven_light(test, 1, seed + 1000),
            EPOCHS_LIGHT,
            0.0,
        ),
    }
    found = {}
    for task, (seen, unseen, epochs, augmentation) in tasks.items():
        found[f"{task}, nearest"] = nearest(seen, unseen)
        for name, make in MAKERS.items():
            torch.manual_seed(seed)
            model = make()
            train_classifier(
                model,
                ImageBatches(seen, augmentation=augmentation, seed=seed),
                n_epochs=epochs,
                learning_rate=RATES[name],
                seed=seed,
            )
            found[f"{task}, {name}"] = accuracy(model, unseen)
    for size in (0.5, 0.02):
        torch.manual_seed(seed)
        model = vit()
        nn.init.normal_(model.positions.table, std=size)
        batches = ImageBatches(train, seed=seed)
        train_classifier(model, batches, n_epochs=EPOCHS_POSITIONS, seed=seed)
        found[f"positions {size}"] = accuracy(model, test)
    return found


def tables(results: dict[str, list[float]]) -> dict[str, list[list[str]]]:
    def cell(task: str, name: str) -> str:
        values = results[f"{task}, {name}"]
        if len(set(values)) == 1:  # nothing depends on the seed
            return f"{100 * values[0]:.1f}%"
        return percent(values)

    plain = [
        [
            "模型 | model",
            "1,442 张 | 1,442 images",
            "145 张 | 145 images",
        ]
    ]
    light = [["模型 | model", "不均匀的光 | uneven light"]]
    for name, title in NAMES.items():
        plain.append([title, cell("all", name), cell("tenth", name)])
        light.append([title, cell("light", name)])
    positions = [
        ["位置的标准差 | deviation of positions", "正确率 | accuracy"]
    ] + [[f"{x}", percent(results[f"positions {x}"])] for x in (0.5, 0.02)]
    return {"digits": plain, "light": light, "positions": positions}
