# Made from docs/chapters/37-images.md (c5c9675e38d2). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
import warnings
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor


__all__ = ["open_image", "read_digit", "to_grayscale"]


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
    if Path(source).is_dir():
        raise ValueError("wanted an image, got a folder")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            with Image.open(source) as image:
                return ImageOps.exif_transpose(image)
    except (FileNotFoundError, PermissionError):
        raise
    except UnidentifiedImageError:
        raise ValueError("wanted an image, got another kind of file") from None
    except Exception as error:  # each format fails in its own way
        why = str(error).splitlines()[0] if str(error) else repr(error)
        raise ValueError(f"wanted an image, got: {why}") from None


def to_grayscale(image: Any) -> Float[Tensor, "height width"]:
    """Return a Pillow image from 0 (black) to 1, at most 512 a side.

    What is transparent counts as paper: white, or black under light ink.
    """
    deep = image.mode.startswith(("I", "F"))  # more than 8 bits
    image = image.convert("F" if deep else "RGBA")
    image.thumbnail((512, 512))
    numbers = bytearray(image.tobytes())
    size = (image.height, image.width)
    if deep:
        x = torch.frombuffer(numbers, dtype=torch.float32).view(size)
        return x / x.max().clamp(min=1.0)
    x = torch.frombuffer(numbers, dtype=torch.uint8).view(*size, 4) / 255
    opaque = x[..., 3]
    x = x[..., :3] @ torch.tensor([0.299, 0.587, 0.114])
    is_light = (x * opaque).sum() > 0.5 * opaque.sum()
    paper = 1.0 - float(is_light)
    return x * opaque + paper * (1 - opaque)


def _find_ink(
    grayscale: Float[Tensor, "height width"],
) -> Float[Tensor, "height width"]:
    """Return the ink from 0 to 1; the edge is taken for paper.

    Raises:
        ValueError: There is none.
    """
    low = grayscale.min()
    high = grayscale.max()
    if not high - low > 0.05:
        raise ValueError("wanted something drawn, got an empty image")
    x = (grayscale - low) / (high - low)
    edge = torch.cat([x[0], x[-1], x[:, 0], x[:, -1]])
    return 1 - x if edge.median() > 0.5 else x


def _to_digit(ink: Float[Tensor, "height width"]) -> Float[Tensor, "1 8 8"]:
    """Crop and shrink ink to what the digits of the data set look like.

    It is made 32 high and at most 24 wide, put in the middle of 32 by 32,
    thickened where lines are thin, and averaged over squares of 4 by 4.

    Source: Alpaydin and Kaynak (1998) for the squares.
    """
    pixels = (ink > 0.3).nonzero()
    top, left = pixels.amin(dim=0)
    bottom, right = pixels.amax(dim=0)
    ink = ink[None, None, top : bottom + 1, left : right + 1]
    width = round(32 * ink.shape[3] / ink.shape[2])
    size = (32, max(1, min(24, width)))
    ink = F.interpolate(ink, size, mode="bilinear", antialias=True)
    margin = 32 - size[1]
    ink = F.pad(ink / ink.max(), (margin // 2, margin - margin // 2))
    while ink.mean() < 0.17:  # less than any digit of the data
        ink = F.max_pool2d(ink, 3, stride=1, padding=1)
    return F.avg_pool2d(ink, 4)[0]


def read_digit(source: Any) -> Float[Tensor, "1 8 8"]:
    """Turn an image file or a Pillow image into the model's input.

    Raises:
        ValueError: It is no image, or an empty one.
    """
    try:
        return _to_digit(_find_ink(to_grayscale(open_image(source))))
    except ValueError as error:
        name = source if isinstance(source, str | Path) else "image"
        raise ValueError(f"{name}: {error}") from None
