"""Digits in uneven light: why is a convolutional network ahead of a ViT?

The same digits as in the experiment vit, distorted and then lit by a cell of
the chapter. Both models are built with either first step, patches that do not
overlap or something that does, and both are trained three times as long. The
learning rate of each is the better of two on a validation set.
"""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from attention_book.data.digits import Digits
from attention_book.models.vit import Images, ViT
from experiments.vit import (
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
EPOCHS = 2  # of 11,540 images
LONGER = 3  # times
RATES = (0.001, 0.003)
LINEAR_RATES = (0.01, 0.03)
NAMES = {
    "linear": "线性模型 | linear model",
    "nearest": "最近邻 | nearest neighbour",
    "convolution": "卷积网络，先 3 × 3 的卷积 | convolutional, 3 × 3 first",
    "patches": "卷积网络，先切块 | convolutional, patches first",
    "ViT": "ViT，先切块 | ViT, patches first",
    "overlap": "ViT，块有重叠 | ViT, overlapping patches",
    "stem": "ViT，先 3 × 3 的卷积 | ViT, 3 × 3 first",
}
LONG = ("convolution", "ViT")


def patches_first() -> nn.Module:
    """The convolutional network, whose first step is that of a ViT."""
    return nn.Sequential(
        nn.Conv2d(1, 32, 2, stride=2),
        nn.ReLU(),
        nn.Conv2d(32, 64, 3, padding=1),
        nn.ReLU(),
        nn.Conv2d(64, 64, 3, padding=1),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(64 * 4 * 4, 10),
    )


class Overlapping(nn.Module):
    """A ViT whose 16 patches are of 4 by 4, at every second pixel."""

    def __init__(self) -> None:
        super().__init__()
        self.vit = vit(image_size=16, patch_size=4)  # also 16 tokens of 16

    def forward(self, images: Images) -> Float[Tensor, "batch classes"]:
        patches = F.unfold(images, 4, padding=1, stride=2)  # (batch, 16, 16)
        side_by_side = F.fold(patches, 16, 4, stride=4)
        return self.vit(side_by_side)


class Stem(nn.Module):
    """A ViT after a convolution of 3 by 3 and a ReLU."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Conv2d(1, 32, 3, padding=1)
        self.vit: ViT = vit(n_channels=32)

    def forward(self, images: Images) -> Float[Tensor, "batch classes"]:
        return self.vit(F.relu(self.stem(images)))


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
    sets = task(seed)
    makers: dict[str, Callable[[], nn.Module]] = {
        "linear": linear,
        "convolution": cells()["convolutional"],
        "patches": patches_first,
        "ViT": vit,
        "overlap": Overlapping,
        "stem": Stem,
    }
    found = {"nearest, test": nearest(sets[0], sets[2])}
    arms = [(name, EPOCHS) for name in makers]
    arms += [(name, LONGER * EPOCHS) for name in LONG]
    for name, epochs in arms:
        torch.manual_seed(seed)
        results = train_with_each_rate(
            makers[name],
            sets,
            epochs=epochs,
            seed=seed,
            rates=LINEAR_RATES if name == "linear" else RATES,
            augmentation=0.0,  # distorted already
        )
        arm = name if epochs == EPOCHS else f"{name} longer"
        found |= {f"{arm}, {k}": x for k, x in results.items()}
    return found


def tables(results: dict[str, list[float]]) -> dict[str, list[list[str]]]:
    light = [["模型 | model", "2 轮 | 2 epochs", "6 轮 | 6 epochs"]]
    for name, title in NAMES.items():
        if name == "nearest":
            light.append([title, cell(results["nearest, test"]), "—"])
            continue
        longer = "—"
        if name in LONG:
            longer = cell(at_best(results, f"{name} longer"))
        light.append([title, cell(at_best(results, name)), longer])
    return {"light": light}
