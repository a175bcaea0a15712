# Made from docs/source/images.md (2fa6ea878eee). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""From image files to the tensors that a Vision Transformer takes.

Explained on the page "Image files and the classifier".
"""

import warnings
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor


__all__ = ["find_ink", "open_image", "read_digit", "to_digit"]


def open_image(source: Any) -> Any:
    """Return a Pillow image, upright.

    Args:
        source: The path of an image file; a Pillow image is returned as is.

    Raises:
        ValueError: The file is no image, damaged, or suspiciously large.
        ImportError: Pillow is not installed.
    """
    try:
        from PIL import Image, ImageOps, UnidentifiedImageError
    except ImportError:
        raise ImportError(
            'run first: pip install "attention-book[vision]"'
        ) from None
    if isinstance(source, Image.Image):
        return source
    if Path(source).exists() and not Path(source).is_file():
        raise ValueError("wanted an image, got no regular file")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # too large, or damaged
            with Image.open(source) as image:
                image.verify()  # the checksums, if the format has any
            with Image.open(source) as image:
                return ImageOps.exif_transpose(image)
    except (FileNotFoundError, PermissionError):
        raise
    except UnidentifiedImageError:
        raise ValueError("wanted an image, got another kind of file") from None
    except Exception as error:  # each format fails in its own way
        why = str(error).splitlines()[0] if str(error) else repr(error)
        raise ValueError(f"wanted an image, got: {why}") from None


def _to_pixels(image: Any) -> Float[Tensor, "channels height width"]:
    """Return a Pillow image from 0 (dark) to 1, at most 512 a side.

    It has three channels, or one if it has more than 8 bits. What is
    transparent counts as paper: white, or black under light ink.
    """
    deep = image.mode.startswith(("I", "F"))  # more than 8 bits
    image = image.convert("F" if deep else "RGBA")
    image.thumbnail((512, 512))
    numbers = bytearray(image.tobytes())
    size = (image.height, image.width)
    if deep:
        x = torch.frombuffer(numbers, dtype=torch.float32).view(1, *size)
        return x / x.max().clamp(min=1.0)
    x = torch.frombuffer(numbers, dtype=torch.uint8).view(*size, 4) / 255
    *colours, opaque = x.unbind(dim=-1)
    x = torch.stack(colours)
    is_light = (x.mean(dim=0) * opaque).sum() > 0.5 * opaque.sum()
    paper = 1.0 - float(is_light)
    return x * opaque + paper * (1 - opaque)


def _edge(
    pixels: Float[Tensor, "channels height width"],
) -> Float[Tensor, "channels edge"]:
    """Return the outermost pixels."""
    sides = (pixels[:, 0], pixels[:, -1], pixels[..., 0], pixels[..., -1])
    return torch.cat(sides, dim=1)


def find_ink(
    pixels: Float[Tensor, "channels height width"],
) -> Float[Tensor, "height width"]:
    """Return the ink, from 0 to 1: what is unlike the paper's colour.

    The paper's colour may change slowly, as in a photograph: in each channel
    it is a quadratic function of the place. The function is fitted to the
    pixels like the edge's median, and again to those like the function.

    Raises:
        ValueError: There is none.
    """
    paper = _edge(pixels).median(dim=1).values[:, None, None]
    unlike = (pixels - paper).norm(dim=0)
    most = unlike.max()
    if not most > 0.05:
        raise ValueError("wanted something drawn, got an empty image")
    if _edge(unlike[None]).median() > 0.02 * most:
        unlike = _unlike_surface(pixels, paper, unlike)
        most = unlike.max()
    noise = _edge(unlike[None]).median() / most
    floor = (0.1 + 4 * noise).clamp(max=0.5)
    return ((unlike / most - floor) / (0.9 - floor)).clamp(0, 1)


def _unlike_surface(
    pixels: Float[Tensor, "channels height width"],
    paper: Float[Tensor, "channels 1 1"],
    unlike: Float[Tensor, "height width"],
) -> Float[Tensor, "height width"]:
    """Return how far pixels are from a paper that is not even."""
    height, width = unlike.shape
    v = torch.linspace(-1, 1, height)[:, None].expand(height, width)
    u = torch.linspace(-1, 1, width).expand(height, width)
    terms = torch.stack([u**0, u, v, u * u, u * v, v * v])
    for share in (0.4, 0.3, 0.2):
        like = unlike < share * unlike.max()
        x = terms[:, like]
        gram = x @ x.mT + 1e-3 * len(x[0]) * torch.eye(6)
        found = torch.linalg.solve(gram, x @ (pixels - paper)[:, like].mT)
        surface = paper + (found.mT @ terms.flatten(1)).view_as(pixels)
        unlike = (pixels - surface).norm(dim=0)
    return unlike


def _drop_specks(
    ink: Float[Tensor, "height width"],
) -> Float[Tensor, "height width"]:
    """Return ink without what is apart and small: dust, noise.

    Parts are told apart on a grid of at most 32 by 32, in squares of which
    more than 2 % are ink.
    """
    height, width = ink.shape
    size = (min(32, height), min(32, width))
    mass = F.adaptive_avg_pool2d(ink[None], size)[0]
    grid = mass > 0.02
    cells = torch.arange(1.0, grid.numel() + 1).view(size) * grid
    while True:  # each part takes its highest number
        spread = F.max_pool2d(cells[None], 3, stride=1, padding=1)[0] * grid
        if torch.equal(spread, cells):
            break
        cells = spread
    masses = torch.zeros(grid.numel() + 1)
    masses.index_add_(0, cells.long().flatten(), mass.flatten())
    masses[0] = 0
    keep = masses[cells.long()] >= 0.04 * masses.max()
    keep &= grid
    return ink * F.interpolate(keep[None, None].float(), ink.shape)[0, 0]


def to_digit(
    ink: Float[Tensor, "height width"], size: int = 28
) -> Float[Tensor, "1 size size"]:
    """Put ink into a square as MNIST does, and thicken thin lines.

    The square is 84 by 84. What is drawn keeps its shape in a box of 60 by
    60, its centre of mass goes to the middle, and squares are averaged.

    Source: LeCun et al. (1998), section III.A, for box and centre.
    """
    ink = _drop_specks(ink)
    pixels = (ink > 0.15).nonzero()
    if not len(pixels):
        raise ValueError("wanted something drawn, got an empty image")
    top, left = pixels.amin(dim=0)
    bottom, right = pixels.amax(dim=0)
    ink = ink[top : bottom + 1, left : right + 1]
    height, width = ink.shape
    longer = max(height, width)
    inner = [max(1, round(60 * side / longer)) for side in (height, width)]
    if longer > 60:  # thin lines stay
        ink = F.adaptive_max_pool2d(ink[None, None], inner)
    else:
        ink = F.interpolate(ink[None, None], inner, mode="bilinear")
    rows = 84 - inner[0]
    columns = 84 - inner[1]
    sides = (columns // 2, columns - columns // 2, rows // 2, rows - rows // 2)
    ink = F.pad(ink, sides)
    while _line_width(ink[0, 0]) < 6:
        ink = F.max_pool2d(ink, 3, stride=1, padding=1)
    return F.adaptive_avg_pool2d(_centre(ink), size)[0]


def _centre(ink: Float[Tensor, "1 1 84 84"]) -> Float[Tensor, "1 1 84 84"]:
    """Shift ink until its centre of mass is in the middle, by 9 at most."""
    place = torch.arange(84) - 41.5
    down = (ink.sum(dim=3) @ place / ink.sum()).round().clamp(-9, 9)
    across = (ink.sum(dim=2) @ place / ink.sum()).round().clamp(-9, 9)
    return ink.roll((-int(down), -int(across)), dims=(2, 3))


def _line_width(ink: Float[Tensor, "height width"]) -> float:
    """Return about how thick lines are: area by half the outline."""
    dx = ink[1:, 1:] - ink[1:, :-1]
    dy = ink[1:, 1:] - ink[:-1, 1:]
    outline = (dx.square() + dy.square()).sqrt().sum()
    return (2 * ink.sum() / outline).item()


def read_digit(source: Any, size: int = 28) -> Float[Tensor, "1 size size"]:
    """Turn an image file or a Pillow image into the model's input.

    Args:
        source: The path of an image file, or a Pillow image.
        size: Height and width of the result.

    Raises:
        ValueError: It is no image, or an empty one.
    """
    try:
        return to_digit(find_ink(_to_pixels(open_image(source))), size)
    except ValueError as error:
        name = source if isinstance(source, str | Path) else "image"
        raise ValueError(f"{name}: {error}") from None
