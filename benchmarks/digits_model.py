"""Make the digit model that the wheel carries: python -m benchmarks.digits_model

It is the chapter's ViT, trained in the same way for longer, on the same four
fifths of the digits, saved in half precision to
attention_book/models/digits.safetensors, and scored as saved on the test set;
seed, time and scores go to results/digits-model.json. Without two quiet cores
the time is no measure.
"""

import json
import tempfile
import time
from pathlib import Path

import torch
from PIL import Image

from attention_book.images import DIGITS, Classifier
from attention_book.vit import Digits, ViT, ViTConfig, digits, train_classifier


RESULTS = Path(__file__).with_name("results") / "digits-model.json"
SEED = 0
N_EPOCHS = 100
CONFIG = ViTConfig(
    image_size=8,
    patch_size=2,
    n_channels=1,
    n_classes=10,
    d_model=64,
    n_heads=4,
    d_ff=128,
    n_layers=3,
)


def to_file(ink: torch.Tensor, path: Path, size: int, light: bool) -> None:
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


def score_files(
    classifier: Classifier, data: Digits, size: int, light: bool, kind: str
) -> float:
    """Percent of the digits that are classified right from files."""
    right = 0
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, f"digit.{kind}")
        for image, label in zip(data.images, data.labels, strict=True):
            to_file(image[0], path, size, light)
            right += classifier.classify(path)[0][0] == str(label.item())
    return 100 * right / len(data.labels)


@torch.no_grad()
def score(classifier: Classifier, data: Digits) -> float:
    """Percent of the digits that are classified right from the data."""
    found = classifier.model(data.images).argmax(dim=1)
    return 100 * (found == data.labels).double().mean().item()


FILES = {
    "PNG of 8 by 8, light ink": (8, True, "png"),
    "PNG of 30 by 30, dark ink": (30, False, "png"),
    "JPEG of 100 by 100, light ink": (100, True, "jpg"),
    "JPEG of 400 by 400, dark ink": (400, False, "jpg"),
}


def evaluate() -> dict[str, float]:
    """Score the model that the package carries on the test set."""
    classifier = Classifier.load()
    _, test = digits()
    scores = {"held out": score(classifier, test)}
    for name, (size, light, kind) in FILES.items():
        scores[name] = score_files(classifier, test, size, light, kind)
    return {name: round(percent, 2) for name, percent in scores.items()}


def main() -> None:
    train, _ = digits()
    start = time.perf_counter()
    torch.manual_seed(SEED)
    model = ViT(CONFIG)
    train_classifier(model, train, n_epochs=N_EPOCHS, seed=SEED)
    seconds = time.perf_counter() - start
    labels = [str(digit) for digit in range(10)]
    Classifier(model, labels).save(DIGITS, torch.float16)
    results = {
        "command": "python -m benchmarks.digits_model",
        "seed": SEED,
        "seconds": round(seconds),
        "threads": torch.get_num_threads(),
        "torch": torch.__version__,
        "correct": evaluate(),
    }
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps(results, indent=2) + "\n")
    print(RESULTS.read_text())


if __name__ == "__main__":
    main()
