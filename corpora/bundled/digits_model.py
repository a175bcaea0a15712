"""Make the digit model that the wheel carries.

    python -m corpora.bundled.digits_model

A ViT of 16 by 16 learns from three kinds of images, all read as image files
are: digits drawn by strokes.py, the four fifths of the real digits that are
for training, and what is no digit, for which every answer is to be equally
likely. Three seeds are trained and scored; the first is saved in half
precision to attention_book/models/digits.safetensors. Seeds, time and scores
go to results/digits-model.json. Without two quiet cores the time is no
measure.
"""

import json
import random
import tempfile
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import matplotlib
import torch
import torch.nn.functional as F
from PIL import Image, ImageDraw, ImageFont
from torch import Tensor, nn

from attention_book.data.digits import Digits, load_digits
from attention_book.data.images import find_ink, read_digit, to_digit
from attention_book.generation.classifier import (
    DIGITS,
    MIN_CONFIDENCE,
    Classifier,
)
from attention_book.models.config import ViTConfig
from attention_book.models.vit import ViT
from attention_book.training import Trainer, TrainingConfig
from attention_book.training.classifiers import (
    ImageBatches,
    LabelledBatch,
    random_affine,
)
from corpora.bundled import strokes


RESULTS = Path(__file__).with_name("results") / "digits-model.json"
DRAWINGS = Path(__file__).parents[2] / "tests" / "drawings"
SEEDS = (0, 1, 2)
N_EPOCHS = 24
PER_DIGIT = 1200  # drawn ones, to train on
NO_DIGIT = 10  # the label of what is none
LABELS = [str(digit) for digit in range(10)]
CONFIG = ViTConfig(
    image_size=16,
    patch_size=4,
    n_channels=1,
    n_classes=10,
    d_model=64,
    n_heads=4,
    d_ff=128,
    n_layers=3,
)


# What it learns from


def read(image: Tensor) -> Tensor:
    """Read a grey image (height, width) as an image file is read."""
    return to_digit(find_ink(image[None]))


def draw(job: tuple[str, int, int, int]) -> tuple[Tensor, int]:
    """Draw n images of a sign, or of a kind without strokes, and read them."""
    sign, label, n, seed = job
    torch.set_num_threads(1)
    g = torch.Generator().manual_seed(seed)
    images = []
    for start in range(0, n, 16):
        side = int(torch.randint(20, 64, (), generator=g))
        m = min(16, n - start)
        if sign == "scribble":
            drawn = strokes.scribble(m, g, side)
        elif sign == "blobs":
            drawn = strokes.blobs(m, g, side)
        elif "|" in sign:
            drawn = strokes.draw_two(*sign.split("|"), m, g, side)
        else:
            drawn = strokes.draw(sign, m, g, side)
        images += [read(image) for image in drawn]
    return torch.stack(images), label


def jobs(per_digit: int, seed: int) -> Iterator[tuple[str, int, int, int]]:
    """Yield what to draw, with a seed for each."""
    rng = random.Random(f"drawings {seed}")
    kinds = []
    for label, signs in strokes.DIGITS.items():
        n = per_digit // len(signs)
        kinds += [(sign, int(label), n) for sign in signs]
    n = per_digit // 20
    kinds += [(sign, NO_DIGIT, n) for sign in strokes.OTHERS]
    signs = [sign for several in strokes.DIGITS.values() for sign in several]
    pairs = [f"{rng.choice(signs)}|{rng.choice(signs)}" for _ in range(25)]
    kinds += [(pair, NO_DIGIT, n // 2) for pair in pairs]
    kinds += [("scribble", NO_DIGIT, n) for _ in range(15)]
    kinds += [("blobs", NO_DIGIT, 4 * n)]
    for sign, label, n in kinds:
        yield sign, label, max(1, n), rng.getrandbits(63)


def drawings(per_digit: int, seed: int) -> Digits:
    """Draw digits, and what is no digit: the same for the same seed."""
    with ProcessPoolExecutor(mp_context=get_context("spawn")) as pool:
        found = list(pool.map(draw, jobs(per_digit, seed), chunksize=4))
    labels = [torch.full((len(images),), label) for images, label in found]
    return Digits(torch.cat([x for x, _ in found]), torch.cat(labels))


def enlarged(data: Digits, seed: int, amount: float = 0.07) -> Digits:
    """Return real digits as read from images of several sizes."""
    rng = random.Random(f"real digits {seed}")
    g = torch.Generator().manual_seed(rng.getrandbits(63))
    images = []
    for image in random_affine(data.images, amount, g):
        side = rng.choice((8, 16, 24, 32))
        mode = rng.choice(("nearest", "bilinear", "bicubic"))
        image = F.interpolate(image[None], side, mode=mode)[0, 0]
        image = F.pad(image.clamp(0, 1), [rng.randrange(6)] * 4)
        images.append(read(image))
    return Digits(torch.stack(images), data.labels)


def training_set(seed: int) -> Digits:
    """Drawings, and each real digit of the training set eight times."""
    train, _ = load_digits()
    parts = [drawings(PER_DIGIT, seed)]
    parts += [enlarged(train, 8 * seed + i) for i in range(8)]
    images, labels = zip(*parts, strict=True)
    return Digits(torch.cat(images), torch.cat(labels))


# Training


def loss_fn(model: nn.Module, batch: LabelledBatch, _: float) -> Tensor:
    """Cross-entropy; what is no digit should be each of them alike.

    Source: Hendrycks et al. (2019), Deep Anomaly Detection with Outlier
        Exposure, for the last.
    """
    targets = torch.cat([torch.eye(10), torch.full((1, 10), 0.1)])
    return F.cross_entropy(model(*batch.inputs).float(), targets[batch.labels])


def train(seed: int) -> ViT:
    """Train the model of a seed."""
    data = training_set(seed)
    torch.manual_seed(seed)
    model = ViT(CONFIG)
    batches = ImageBatches(data, batch_size=256, augmentation=0.04, seed=seed)
    max_steps = N_EPOCHS * len(batches)
    config = TrainingConfig(
        max_steps=max_steps,
        learning_rate=3e-3,
        warmup_steps=max_steps // 10,
        betas=(0.9, 0.999),
        weight_decay=0.05,
        seed=seed,
    )
    trainer = Trainer(model, batches, config, loss_fn)
    for _ in range(max_steps):
        trainer.step()
    return model.eval()


# How well it does


def to_file(ink: Tensor, path: Path, size: int, light: bool) -> None:
    """Draw a digit of the data as an image file, with a margin."""
    shade = (255 * (ink if light else 1 - ink)).round().to(torch.uint8)
    height, width = shade.shape
    picture = Image.frombytes("L", (width, height), bytes(shade.flatten()))
    paper = Image.new("L", (size, size), 0 if light else 255)
    inner = max(8, size - size // 5)
    corner = (size - inner) // 2
    picture = picture.resize((inner, inner), Image.Resampling.BICUBIC)
    paper.paste(picture, (corner, corner))
    paper.save(path)


def read_files(data: Digits, size: int, light: bool, kind: str) -> Digits:
    """Read digits of the data from image files."""
    images = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, f"digit.{kind}")
        for image in data.images:
            to_file(image[0], path, size, light)
            images.append(read_digit(path))
    return Digits(torch.stack(images), data.labels)


def read_folder(folder: Path) -> Digits:
    """Read images whose names begin with the digit, or with another sign."""
    paths = sorted(folder.glob("*.*"))
    names = [path.name[0] for path in paths]
    labels = [int(x) if x.isdigit() else NO_DIGIT for x in names]
    images = torch.stack([read_digit(path) for path in paths])
    return Digits(images, torch.tensor(labels))


def printed(size: int = 40) -> Digits:
    """Print the digits in the fonts that matplotlib and Pillow bring."""
    folder = Path(matplotlib.get_data_path(), "fonts", "ttf")
    fonts: list[Any] = [ImageFont.load_default(size)]
    fonts += [ImageFont.truetype(folder / f"{x}.ttf", size) for x in FONTS]
    images = []
    for font in fonts:
        for text in LABELS:
            image = Image.new("L", (2 * size, 2 * size), 255)
            pen = ImageDraw.Draw(image)
            pen.text((size // 2, size // 3), text, fill=0, font=font)
            images.append(read_digit(image))
    return Digits(torch.stack(images), torch.arange(10).repeat(len(fonts)))


FILES = {
    "PNG of 8 by 8, light ink": (8, True, "png"),
    "PNG of 30 by 30, dark ink": (30, False, "png"),
    "JPEG of 100 by 100, light ink": (100, True, "jpg"),
    "JPEG of 400 by 400, dark ink": (400, False, "jpg"),
}
FONTS = (
    "DejaVuSans",
    "DejaVuSans-Bold",
    "DejaVuSerif",
    "DejaVuSerif-BoldItalic",
    "DejaVuSansMono",
    "STIXGeneral",
    "STIXGeneralItalic",
    "cmr10",
    "cmss10",
    "cmtt10",
    "cmb10",
)


def scored_sets(files: Iterable[str] = FILES) -> dict[str, Digits]:
    """Return what the model is scored on: nothing of it was learnt from."""
    _, unseen = load_digits()
    sets = {"held out, " + x: read_files(unseen, *FILES[x]) for x in files}
    sets["drawn by hand"] = read_folder(DRAWINGS / "digits")
    sets["no digit"] = read_folder(DRAWINGS / "others")
    sets["printed"] = printed()
    return sets


@torch.no_grad()
def evaluate(
    model: nn.Module, sets: dict[str, Digits]
) -> dict[str, dict[str, float]]:
    """Score a model: percent right, percent unsure, mean probability."""
    scores = {}
    for name, data in sets.items():
        sure, found = model(data.images).softmax(dim=1).max(dim=1)
        right = (found == data.labels).double()
        scores[name] = {
            "images": len(right),
            "right": round(100 * right.mean().item(), 2),
            "unsure": round(
                100 * (sure < MIN_CONFIDENCE).double().mean().item(), 2
            ),
            "probability": round(100 * sure.mean().item(), 2),
        }
    return scores


def reliability(
    models: list[nn.Module], data: Digits
) -> list[dict[str, float]]:
    """Return, for answers of like probability, how many are right."""
    bands = [(0.0, 0.6), (0.6, 0.8), (0.8, 0.95), (0.95, 0.99), (0.99, 1.01)]
    with torch.no_grad():
        found = [
            model(data.images).softmax(dim=1).max(dim=1) for model in models
        ]
    probability = torch.cat([x.values for x in found]).double()
    labels = data.labels.repeat(len(models))
    right = (torch.cat([x.indices for x in found]) == labels).double()
    rows = []
    for low, high in bands:
        inside = (low <= probability) & (probability < high)
        if n := int(inside.sum()):
            rows.append(
                {
                    "from": low,
                    "to": min(high, 1.0),
                    "answers": n,
                    "probability": round(
                        100 * probability[inside].mean().item(), 1
                    ),
                    "right": round(100 * right[inside].mean().item(), 1),
                }
            )
    return rows


def main() -> None:
    torch.set_num_threads(1)  # so that sums are rounded alike
    models: list[nn.Module] = []
    seconds = []
    for seed in SEEDS:
        start = time.perf_counter()
        models.append(train(seed))
        seconds.append(round(time.perf_counter() - start))
    Classifier(models[0], LABELS).save(DIGITS, torch.float16)
    models[0] = Classifier.load().model  # as saved
    fresh = drawings(200, seed=99)
    is_digit = fresh.labels != NO_DIGIT
    new = Digits(*(x[is_digit] for x in fresh))
    sets = scored_sets()
    real = [sets[name] for name in sets if name.startswith("held out")]
    held_out = Digits(*(torch.cat(x) for x in zip(*real, strict=True)))
    results = {
        "command": "python -m corpora.bundled.digits_model",
        "seconds": seconds,
        "threads": torch.get_num_threads(),
        "torch": torch.__version__,
        "seeds": {
            seed: evaluate(model, sets)
            for seed, model in zip(SEEDS, models, strict=True)
        },
        "reliability": {
            "held out": reliability(models, held_out),
            "drawn by strokes.py, another seed": reliability(models, new),
        },
    }
    RESULTS.write_text(json.dumps(results, indent=2) + "\n")
    print(RESULTS.read_text())


if __name__ == "__main__":
    main()
