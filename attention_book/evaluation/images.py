# Made from docs/source/perturbations.md (df3706436ff1). Edit the chapter, or edit here and run: nox -s tangle -- --stitch
"""Changes to images.

Explained in the chapter "Robustness and fairness".
"""

import math

import torch
import torch.nn.functional as F
from jaxtyping import Int
from torch import Tensor, nn

from attention_book._checks import check_number
from attention_book.models.vit import Images


__all__ = ["add_noise", "adjust_contrast", "fgsm", "rotate", "shift_images"]


def shift_images(images: Images, down: int, right: int) -> Images:
    """Move images by whole pixels; what comes in is 0, what leaves is lost.

    Raises:
        ValueError: A step is larger than the images.
    """
    _check_images(images)
    height, width = images.shape[-2:]
    for name, by, size in ("down", down, height), ("right", right, width):
        if abs(by) > size:
            raise ValueError(
                f"{name} must be from -{size} to {size}, got {by}"
            )
    rows = torch.roll(F.pad(images, (width, width, height, height)), down, -2)
    moved = torch.roll(rows, right, -1)
    return moved[..., height : 2 * height, width : 2 * width]


def rotate(images: Images, degrees: float) -> Images:
    """Turn square images about their centre, counter-clockwise as seen.

    Between pixels the value is interpolated; outside the image it is 0.

    Raises:
        ValueError: The images are not square.
    """
    _check_images(images)
    check_number("degrees", degrees)
    height, width = images.shape[-2:]
    if height != width:
        raise ValueError(f"images must be square, got {height} by {width}")
    angle = math.radians(degrees)
    cos, sin = math.cos(angle), math.sin(angle)
    turn = torch.tensor(
        [[cos, -sin, 0.0], [sin, cos, 0.0]], dtype=images.dtype
    )
    maps = turn.expand(len(images), 2, 3)
    grid = F.affine_grid(maps, list(images.shape), align_corners=False)
    return F.grid_sample(images, grid, align_corners=False)


def add_noise(
    images: Images, std: float, generator: torch.Generator
) -> Images:
    """Add Gaussian noise of a standard deviation to each pixel."""
    _check_images(images)
    check_number("std", std)
    noise = torch.randn(images.shape, generator=generator, dtype=images.dtype)
    return images + std * noise


def adjust_contrast(images: Images, factor: float) -> Images:
    """Scale the distance of each pixel from the mean of its image."""
    _check_images(images)
    check_number("factor", factor)
    mean = images.mean(dim=(-3, -2, -1), keepdim=True)
    return mean + factor * (images - mean)


def fgsm(
    model: nn.Module,
    images: Images,
    labels: Int[Tensor, " batch"],
    size: float,
) -> Images:
    """Move each pixel by one size, to where the loss grows.

    Source: Goodfellow et al. (2015), §4, the fast gradient sign method.
    """
    _check_images(images)
    check_number("size", size)
    images = images.detach().requires_grad_()
    loss = F.cross_entropy(model(images), labels, reduction="sum")
    (gradient,) = torch.autograd.grad(loss, images)
    return (images + size * gradient.sign()).detach()


def _check_images(images: Tensor) -> None:
    """Raise ValueError unless images are (batch, channels, height, width)."""
    if images.ndim != 4 or not images.is_floating_point():
        raise ValueError(
            "images must be a floating-point tensor (batch, channels, height, "
            f"width), got {images.dtype} of shape {tuple(images.shape)}"
        )
