"""Changes to images (batch, channels, height, width): "Robustness and fairness"."""

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn


def shift_images(images: Tensor, down: int, right: int) -> Tensor:
    """Move images by whole pixels; what comes in is 0, what leaves is lost."""
    height, width = images.shape[-2:]
    rows = torch.roll(F.pad(images, (width, width, height, height)), down, -2)
    moved = torch.roll(rows, right, -1)
    return moved[..., height : 2 * height, width : 2 * width]


def rotate(images: Tensor, degrees: float) -> Tensor:
    """Turn square images about their centre, counter-clockwise as seen.

    Between pixels the value is interpolated; outside the image it is 0.
    """
    angle = math.radians(degrees)
    cos, sin = math.cos(angle), math.sin(angle)
    turn = torch.tensor(
        [[cos, -sin, 0.0], [sin, cos, 0.0]], dtype=images.dtype
    )
    maps = turn.expand(len(images), 2, 3)
    grid = F.affine_grid(maps, list(images.shape), align_corners=False)
    return F.grid_sample(images, grid, align_corners=False)


def add_noise(
    images: Tensor, std: float, generator: torch.Generator
) -> Tensor:
    """Add Gaussian noise of a standard deviation to each pixel."""
    noise = torch.randn(images.shape, generator=generator, dtype=images.dtype)
    return images + std * noise


def adjust_contrast(images: Tensor, factor: float) -> Tensor:
    """Scale the distance of each pixel from the mean of its image."""
    mean = images.mean(dim=(-3, -2, -1), keepdim=True)
    return mean + factor * (images - mean)


def fgsm(
    model: nn.Module, images: Tensor, labels: Tensor, size: float
) -> Tensor:
    """Move each pixel by one size, to where the loss grows.

    Source: Goodfellow et al. (2015), §4, the fast gradient sign method.
    """
    images = images.detach().requires_grad_()
    loss = F.cross_entropy(model(images), labels, reduction="sum")
    (gradient,) = torch.autograd.grad(loss, images)
    return (images + size * gradient.sign()).detach()
