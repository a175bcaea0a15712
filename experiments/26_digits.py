"""Digits shifted, turned, with noise and with less contrast: chapter 26.

ViTs of chapter 15, trained briefly, longer, and longer with more augmentation.
For each strength of each change: the accuracy, the mean confidence and the
calibration error.
"""

import torch
from torch import Tensor

from attention_book.robust import (
    add_noise,
    adjust_contrast,
    expected_calibration_error,
    rotate,
    shift_images,
)
from attention_book.vit import (
    Digits,
    ViT,
    ViTConfig,
    digits,
    train_classifier,
)
from experiments.record import percent


SEEDS = range(3)
MODELS = {  # augmentation, and epochs
    "short": (0.1, 12),
    "long": (0.1, 36),
    "strong": (0.2, 36),
}
STRENGTHS = {
    "shift": (1, 2, 3),
    "rotate": (15, 30, 45, 60),
    "noise": (0.1, 0.2, 0.3, 0.4, 0.5),
    "contrast": (0.5, 0.25, 0.1),
}


def changed(images: Tensor, kind: str, strength: float) -> list[Tensor]:
    """The images changed in each direction that there is."""
    if kind == "shift":
        n = int(strength)
        moves = ((n, 0), (-n, 0), (0, n), (0, -n))
        return [shift_images(images, down, right) for down, right in moves]
    if kind == "rotate":
        return [rotate(images, sign * strength) for sign in (1, -1)]
    if kind == "noise":
        rng = torch.Generator().manual_seed(0)
        return [add_noise(images, strength, rng) for _ in range(4)]
    return [adjust_contrast(images, strength)]


@torch.no_grad()
def measure(model: ViT, images: list[Tensor], labels: Tensor) -> list[float]:
    """Accuracy, mean confidence and calibration error over all images."""
    probabilities = torch.cat([model(x).softmax(dim=1) for x in images])
    confidence, found = probabilities.max(dim=1)
    right = found == labels.repeat(len(images))
    return [
        right.double().mean().item(),
        confidence.double().mean().item(),
        expected_calibration_error(confidence, right),
    ]


def train(
    train_set: Digits, augmentation: float, n_epochs: int, seed: int
) -> ViT:
    torch.manual_seed(seed)
    model = ViT(
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
    train_classifier(
        model,
        train_set,
        n_epochs=n_epochs,
        augmentation=augmentation,
        seed=seed,
    )
    return model


def run(seed: int) -> dict[str, float]:
    train_set, (images, labels) = digits()
    results = {}
    for name, (augmentation, n_epochs) in MODELS.items():
        model = train(train_set, augmentation, n_epochs, seed)
        cases = {"clean": [images]} | {
            f"{kind} {strength}": changed(images, kind, strength)
            for kind, strengths in STRENGTHS.items()
            for strength in strengths
        }
        for case, several in cases.items():
            found = measure(model, several, labels)
            for what, value in zip(
                ("accuracy", "confidence", "error"), found, strict=True
            ):
                results[f"{name}, {case}, {what}"] = value
    return results


SHOWN = {
    "clean": "原图 | as they are",
    "shift 1": "平移 1 像素 | shifted by 1 pixel",
    "shift 2": "平移 2 像素 | shifted by 2 pixels",
    "rotate 30": "旋转 30° | turned by 30°",
    "rotate 60": "旋转 60° | turned by 60°",
    "noise 0.2": "噪声 0.2 | noise 0.2",
    "noise 0.4": "噪声 0.4 | noise 0.4",
    "contrast 0.25": "对比度 0.25 | contrast 0.25",
    "contrast 0.1": "对比度 0.1 | contrast 0.1",
}


def tables(results: dict[str, list[float]]) -> dict[str, list[list[str]]]:
    head = [
        "改动 | change",
        "正确率 | accuracy",
        "置信度 | confidence",
        "校准误差 | ECE",
        "36 轮 | 36 epochs",
        "增强 0.2 | augmentation 0.2",
    ]
    rows = [
        [
            title,
            *(
                percent(results[f"short, {case}, {what}"], 0)
                for what in ("accuracy", "confidence", "error")
            ),
            *(
                percent(results[f"{name}, {case}, accuracy"], 0)
                for name in ("long", "strong")
            ),
        ]
        for case, title in SHOWN.items()
    ]
    return {"digits": [head, *rows]}
