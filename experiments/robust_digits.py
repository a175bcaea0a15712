"""Digits shifted, turned, with noise, with less contrast, and attacked.

ViTs are trained briefly, longer, and longer with more augmentation. For each
strength of each change: the accuracy, the mean confidence and the calibration
error. The last also after temperature scaling, where the logits of either half
of the test set are divided by the temperature that fits the other half as it
is.
"""

import torch
from torch import Tensor

from attention_book import expected_calibration_error
from attention_book.data.digits import Digits, load_digits
from attention_book.evaluation.calibration import fit_temperature
from attention_book.models.config import ViTConfig
from attention_book.models.vit import ViT
from attention_book.training.classifiers import ImageBatches, train_classifier
from corpora.biased.images import (
    add_noise,
    adjust_contrast,
    fgsm,
    rotate,
    shift_images,
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
    "signs": (0.1, 0.2),
    "fgsm": (0.1, 0.2),
}
SIZES = {"d_model": 64, "n_heads": 4, "d_ff": 128, "n_layers": 3}


def changed(
    model: ViT, digits: Digits, kind: str, strength: float
) -> list[Tensor]:
    """The images changed in each direction that there is, or four at random."""
    images, labels = digits
    rng = torch.Generator().manual_seed(0)
    match kind:
        case "shift":
            n = int(strength)
            moves = ((n, 0), (-n, 0), (0, n), (0, -n))
            return [shift_images(images, down, right) for down, right in moves]
        case "rotate":
            return [rotate(images, sign * strength) for sign in (1, -1)]
        case "noise":
            return [add_noise(images, strength, rng) for _ in range(4)]
        case "contrast":
            return [adjust_contrast(images, strength)]
        case "signs":
            return [
                images
                + strength * torch.randn(images.shape, generator=rng).sign()
                for _ in range(4)
            ]
        case "fgsm":
            return [fgsm(model, images, labels, strength)]
    raise ValueError(f"no such change: {kind!r}")


@torch.no_grad()
def measure(
    model: ViT, images: list[Tensor], labels: Tensor, temperatures: Tensor
) -> dict[str, float]:
    """Accuracy, confidence and calibration error over all images."""
    logits = torch.cat([model(x) for x in images])
    scaled = logits / temperatures.repeat(len(images))[:, None]
    confidence, found = logits.softmax(dim=1).max(dim=1)
    right = found == labels.repeat(len(images))
    return {
        "accuracy": right.double().mean().item(),
        "confidence": confidence.double().mean().item(),
        "error": expected_calibration_error(confidence, right),
        "error, scaled": expected_calibration_error(
            scaled.softmax(dim=1).amax(dim=1), right
        ),
    }


@torch.no_grad()
def temperatures(model: ViT, test: Digits) -> tuple[float, float]:
    """What fits the images of even numbers, and those of odd numbers."""
    logits = model(test.images)
    even, odd = (
        fit_temperature(logits[start::2], test.labels[start::2])
        for start in (0, 1)
    )
    return even, odd


def train(
    train_set: Digits, augmentation: float, n_epochs: int, seed: int
) -> ViT:
    torch.manual_seed(seed)
    images = {"image_size": 8, "patch_size": 2, "n_channels": 1}
    config = ViTConfig(**images, n_classes=10, **SIZES)
    model = ViT(config)
    train_classifier(
        model,
        ImageBatches(train_set, augmentation=augmentation, seed=seed),
        n_epochs=n_epochs,
        seed=seed,
    )
    return model


def run(seed: int) -> dict[str, float]:
    train_set, test = load_digits()
    results = {}
    for name, (augmentation, n_epochs) in MODELS.items():
        model = train(train_set, augmentation, n_epochs, seed)
        even, odd = temperatures(model, test)
        results[f"{name}, temperature"] = (even + odd) / 2
        of_each = torch.full((len(test.labels),), odd)
        of_each[1::2] = even  # of the other half
        cases = {"clean": [test.images]} | {
            f"{kind} {strength}": changed(model, test, kind, strength)
            for kind, strengths in STRENGTHS.items()
            for strength in strengths
        }
        for case, images in cases.items():
            found = measure(model, images, test.labels, of_each)
            for what, value in found.items():
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
SOME = ("clean", "shift 1", "shift 2", "rotate 30", "noise 0.4")


def tables(results: dict[str, list[float]]) -> dict[str, list[list[str]]]:
    def cells(case: str, *columns: str) -> list[str]:
        return [
            percent(results[column.format(case=case)], 0) for column in columns
        ]

    short = {
        "short, {case}, accuracy": "正确率 | accuracy",
        "short, {case}, confidence": "置信度 | confidence",
        "short, {case}, error": "校准误差 | ECE",
    }
    temperature = {
        "short, {case}, error": "校准误差 | ECE",
        "short, {case}, error, scaled": "校准误差，除以 T | ECE, scaled",
    }
    training = {
        "long, {case}, accuracy": "36 轮，正确率 | 36 epochs, accuracy",
        "long, {case}, error": "校准误差 | ECE",
        "strong, {case}, accuracy": (
            "增强更多，正确率 | more augmentation, accuracy"
        ),
        "strong, {case}, error": "校准误差 | ECE",
    }
    attack = {
        "short, signs {case}, accuracy": "正负随机 | random signs",
        "short, fgsm {case}, accuracy": "FGSM",
        "long, signs {case}, accuracy": "36 轮，随机 | 36 epochs, random",
        "long, fgsm {case}, accuracy": "36 轮，FGSM | 36 epochs, FGSM",
    }
    small = {  # where the temperature of unchanged images still helps
        "clean": SHOWN["clean"],
        "rotate 15": "旋转 15° | turned by 15°",
        "noise 0.1": "噪声 0.1 | noise 0.1",
    }
    change = "改动 | change"
    return {
        name: [[change, *columns.values()]]
        + [[title, *cells(case, *columns)] for case, title in shown.items()]
        for name, columns, shown in (
            ("digits", short, SHOWN),
            ("some", short, {case: SHOWN[case] for case in SOME}),
            ("temperature", temperature, small | SHOWN),
            ("training", training, SHOWN),
        )
    } | {
        "attack": [["ε", *attack.values()]]
        + [
            [str(size), *cells(str(size), *attack)]
            for size in STRENGTHS["fgsm"]
        ]
    }
