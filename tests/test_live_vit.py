"""The Vision Transformer in the reader's browser, beside that of the package."""

import base64
from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from PIL import Image, ImageDraw
from torch import Tensor

from attention_book.data.digits import load_digits
from attention_book.data.images import find_ink, to_digit
from attention_book.generation.classifier import DIGITS, Classifier
from attention_book.interpret.mixing import attention_rollout, mixing_matrices
from attention_book.models.vit import patchify
from tests.node import run_node


pytestmark = pytest.mark.slow  # starts Node
SCRIPT = """
import { readFileSync } from "node:fs";
const live = (name) => import(new URL(name, process.argv[1]));
const { findInk, toDigit, toSquare } = await live("images.js");
const { Matrix, readTensors } = await live("tensors.js");
const { gelu, patchify, ViT } = await live("vit.js");

const { drawings, images, x, path } = JSON.parse(readFileSync(0));
const bytes = (text) => Uint8Array.from(Buffer.from(text, "base64"));
const floats = (text) => new Float32Array(bytes(text).buffer);
const pack = (numbers) => Buffer.from(Float32Array.from(numbers).buffer).toString("base64");
const digits = drawings.map(({ ink, height, width }) => {
  const opacity = Float32Array.from(bytes(ink), (byte) => byte / 255);
  const { place } = toSquare(opacity, height, width);
  return {
    digit: pack(toDigit(opacity, height, width)), ink: pack(findInk(opacity)), place,
  };
});
const model = new ViT(readTensors(new Uint8Array(readFileSync(path)).buffer));
const answers = images.map((image) => {
  const logits = pack(model.forward(floats(image)));
  return { logits, rollout: pack(model.rollout()) };
});
const patches = patchify(new Matrix(6, 6, Float32Array.from({ length: 36 }, (_, i) => i)), 2);
const empty = [[new Float32Array(35), 5, 7], [new Float32Array(35).fill(0.1), 5, 7]]
  .map((ink) => { try { toDigit(...ink) } catch (error) { return error.message } });
const { labels, threshold } = model;
console.log(JSON.stringify({
  digits, answers, gelu: x.map(gelu), patches: [...patches.data], empty, labels, threshold,
}));
"""


def draw(n: int) -> Image.Image:
    """Polylines with a pen, with or without dust, large or small, on white."""
    rng = torch.Generator().manual_seed(n)

    def some(low: int, high: int) -> int:
        return int(torch.randint(low, high + 1, (), generator=rng))

    width, height = some(20, 60), some(20, 60)
    if n % 4:
        width, height = some(60, 230), some(60, 230)
    picture = Image.new("L", (4 * width, 4 * height), 255)
    pen = ImageDraw.Draw(picture)
    thickness = 4 * some(1, 1 + min(width, height) // 10)
    edge = 4 + thickness

    def point() -> tuple[int, int]:
        return some(edge, 4 * width - edge), some(edge, 4 * height - edge)

    for _ in range(some(1, 3)):
        points = [point() for _ in range(some(2, 7))]
        pen.line(points, fill=some(0, 90), width=thickness, joint="curve")
    if n % 3 == 0:
        for _ in range(some(1, 5)):
            pen.circle(point(), some(2, 6), fill=0)
    return picture.resize((width, height), Image.Resampling.BOX)


def to_opacity(picture: Image.Image) -> Tensor:
    ink = 255 - torch.frombuffer(
        bytearray(picture.tobytes()), dtype=torch.uint8
    )
    return (ink / 255).view(picture.height, picture.width)


def bar() -> Image.Image:
    """Five by 120: its width in a box of 60 is halfway between 2 and 3."""
    picture = Image.new("L", (40, 140), 255)
    ImageDraw.Draw(picture).rectangle((17, 10, 21, 129), fill=0)
    return picture


DRAWINGS = [bar(), *(draw(n) for n in range(59))]
X = torch.linspace(-8, 8, 4001, dtype=torch.float64)


@pytest.fixture(scope="module")
def images() -> Tensor:
    """Forty digits of people, enlarged, and what is drawn above."""
    _, test = load_digits()
    people = F.interpolate(test.images[::9][:40], (28, 28), mode="bilinear")
    drawn = [to_digit(to_opacity(picture)) for picture in DRAWINGS]
    return torch.cat([people, torch.stack(drawn)])


def pack(data: bytes) -> str:
    return base64.b64encode(data).decode()


def run(half: int, images: Tensor) -> dict[str, Any]:
    """What the scripts make of every second drawing and image."""
    drawings = [
        {
            "ink": pack(bytes(255 - byte for byte in picture.tobytes())),
            "height": picture.height,
            "width": picture.width,
        }
        for picture in DRAWINGS[half::2]
    ]
    given = {
        "drawings": drawings,
        "images": [pack(image.numpy().tobytes()) for image in images[half::2]],
        "x": X.tolist(),
        "path": str(DIGITS),
    }
    return run_node(SCRIPT, given)


@pytest.fixture(scope="module")
def found(images: Tensor) -> dict[str, Any]:
    """What the scripts make of all."""
    with ThreadPoolExecutor() as pool:
        first, second = pool.map(run, (0, 1), (images, images))
    for name in ("digits", "answers"):
        pairs = zip(first[name], second[name], strict=True)
        first[name] = list(chain.from_iterable(pairs))
    return first


@pytest.fixture(scope="module")
def classifier() -> Classifier:
    return Classifier.load()


def apart(found: list[str], wanted: Tensor) -> float:
    """The largest difference of packed rows of numbers."""
    rows = [bytearray(base64.b64decode(row)) for row in found]
    x = torch.stack([torch.frombuffer(r, dtype=torch.float32) for r in rows])
    return (x - wanted).abs().max().item()


def test_logits_are_those_of_the_package(
    classifier: Classifier, images: Tensor, found: dict[str, Any]
) -> None:
    with torch.no_grad():
        wanted = classifier.model(images)
    assert len(wanted) == 100
    assert len(wanted.argmax(dim=1).unique()) == 10
    assert apart([x["logits"] for x in found["answers"]], wanted) < 1e-4


def test_rollout_is_that_of_the_package(
    classifier: Classifier, images: Tensor, found: dict[str, Any]
) -> None:
    mixing = mixing_matrices(classifier.model, [images])
    wanted = attention_rollout(mixing).mean(dim=1)
    assert wanted.max() > 2 / 49  # it points somewhere
    assert apart([x["rollout"] for x in found["answers"]], wanted) < 1e-5


@pytest.mark.parametrize("n", range(len(DRAWINGS)))
def test_ink_becomes_the_same_image(n: int, found: dict[str, Any]) -> None:
    opacity = to_opacity(DRAWINGS[n])
    drawing = found["digits"][n]
    wanted = to_digit(opacity).flatten()
    assert apart([drawing["digit"]], wanted) < 1e-4
    wanted = find_ink(1 - opacity[None]).flatten()
    assert apart([drawing["ink"]], wanted) < 1e-5


def test_the_drawings_differ_as_users_drawings_do() -> None:
    sizes = [max(picture.size) for picture in DRAWINGS]
    assert min(sizes) < 60 < max(sizes)
    digits = torch.stack([to_digit(to_opacity(x)) for x in DRAWINGS])
    assert (
        torch.cdist(digits.flatten(1), digits.flatten(1)).gt(1).sum()
        == 60 * 59
    )


def test_the_square_says_where_it_is(found: dict[str, Any]) -> None:
    """Its middle is the drawing's centre of mass, to a pixel of the square."""
    sides = ((0, "left", "width"), (1, "top", "height"))
    for dim, start, length in sides:
        near = 0
        for picture, digit in zip(DRAWINGS, found["digits"], strict=True):
            mass = to_opacity(picture).sum(dim=dim)
            centre = mass @ (torch.arange(len(mass)) + 0.5) / mass.sum()
            place = digit["place"]
            middle = place[start] + place[length] / 2
            near += abs(middle - centre.item()) < place[length] / 84
        assert near >= 50  # dust that was dropped has a mass, too


def test_gelu_is_exact(found: dict[str, Any]) -> None:
    y = torch.tensor(found["gelu"], dtype=torch.float64)
    assert (y - F.gelu(X)).abs().max() < 1e-6


def test_patches_are_cut_row_by_row(found: dict[str, Any]) -> None:
    wanted = patchify(torch.arange(36.0).view(1, 1, 6, 6), 2)
    assert found["patches"] == wanted.flatten().tolist()


def test_what_is_empty_is_refused(found: dict[str, Any]) -> None:
    message = "wanted something drawn, got an empty image"
    with pytest.raises(ValueError, match=message):
        to_digit(torch.zeros(5, 7))
    assert found["empty"] == [message] * 2


def test_labels_and_threshold_are_read(
    classifier: Classifier, found: dict[str, Any]
) -> None:
    assert found["labels"] == classifier.labels
    assert found["threshold"] == classifier.threshold
